// Search from a disk: browsers start no worker there, so the worker's script runs in a hidden frame instead.
if (location.protocol === "file:") {
  window.IFrameWorker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      const load = (address) => new Promise((done, failed) => {
        const script = inside.document.createElement("script");
        Object.assign(script, { src: new URL(address, document.baseURI).href, onload: done, onerror: failed });
        inside.document.body.append(script);
      });
      inside.postMessage = (data) => this.answer(data);
      inside.importScripts = (...addresses) => addresses.reduce((all, one) => all.then(() => load(one)), Promise.resolve());
      this.inside = inside;
      this.ready = load(url);
    }

    answer(data) {
      const event = new MessageEvent("message", { data });
      this.dispatchEvent(event);
      this.onmessage?.(event);
    }

    postMessage(data) {
      this.ready.then(() => this.inside.dispatchEvent(new this.inside.MessageEvent("message", { data })));
    }

    terminate() {
      this.inside.frameElement.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
