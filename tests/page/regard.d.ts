// What the pages' scripts share: one global object, `regard`, that each file adds its part to.

type Color = number[];
type Theme = "light" | "dark";
type Child = Node | string;
type Attributes = Record<string, string | number | boolean | undefined | ((event: any) => unknown)>;

/** What the pages keep at elements of their own. */
interface HTMLElement {
  listening?: AbortController;
  state?: State;
  weight?: number;
}

/** One kind of attention: its labels, and which word each of them belongs to (null for a special token). */
interface Kind {
  rows: string[];
  columns: string[];
  row_words: (number | null)[];
  column_words: (number | null)[];
  layers: number;
  heads: number;
  entropy: number[][];
  sink: (number | null)[][];
  weights: number[][][][]; // layers, heads, rows, columns; only in what a server answers
  rollout: number[][];
}

/** A beam search: what it began with, and every candidate; each names its parent by place, -1 is the root. */
interface Beam {
  width: number;
  before: string[];
  nodes: { parent: number; token: string; isEnd: boolean; logProb: number; score: number; fate: "kept" | "dropped" | "finished"; final?: number }[];
}

type HeadRoles = Record<string, Record<string, number>[][]>;

interface TokenScore {
  token: string;
  probability: number;
  alternatives: [string, number][];
}

interface HeadAblation {
  kind: string;
  layer: number;
  head: number;
  loss: number;
  probabilities: number[];
  instead: string[];
}

interface Why {
  rows: number[];
  left_out: number[][];
  gradient: number[][];
  off: HeadAblation[];
  argmax_overlap?: { left_out: number; gradient: number };
}

/** What `Inspection.to_json` writes. */
interface Inspected {
  task: string;
  text: string;
  answer: string;
  notes?: string[];
  kinds: Record<string, Kind>;
  token_scores: TokenScore[];
  logit_lens: [string, number][][][];
  why: Why | null;
  alignment: [number, number][];
  aligning: { layer: number; heads: number[]; is_after?: boolean } | null;
  head_roles?: HeadRoles | null;
  beam?: Beam | null;
}

/** One row of one head, down to its numbers. */
interface CellNumbers {
  query: Float32Array;
  keys: Float32Array[];
  scale: number;
  scores: number[];
  weights: Float32Array;
  may: boolean[];
  temperature: number;
  values: Float32Array[];
  norms: number[]; // of each value through the output projection
  written: number[]; // the norm of what each head of the layer writes
  fixed: number[]; // columns whose weight was set
}

interface StreamStep {
  name: string;
  norm: number; // of what was written
  stream: number; // of the residual stream after it
  cosine: number; // of the stream to what it becomes in the end
  likeliest: [string, number][] | null;
}

interface ActiveUnit {
  unit: number;
  value: number;
  towards: [string, number][];
}

interface ChangedToken {
  token: string;
  before: number;
  after: number;
  moved: number; // probability that went elsewhere: half of all absolute differences
  others: [string, number, number][];
}

interface Near {
  words: { token: string; near: [string, number][] }[];
  points: { token: string; isHere: boolean; x: number; y: number }[];
  positions: Float32Array[] | null;
}

interface Table {
  rows: string[];
  columns: string[];
  values: Float32Array;
  height: number;
  width: number;
}

/** What is changed of a model: in its computation, or in what it is given. */
interface Changes {
  edits: Edit[];
  instead: Record<string, string>;
}

/** A model in the page, that was asked for what is shown and can be asked for more. */
interface Live {
  isInside: boolean; // a Transformer, whose vectors can be asked for
  given: Record<string, any>;
  changes: Changes;
  past: Changes[];
  fields(): Record<string, any>;
  ask(path: string, more: Record<string, unknown>): Promise<any>;
  change(edits: Edit[], instead?: Record<string, string>): void;
  undo(): void;
}

interface Cross {
  x: number;
  y: number;
}

/** A part of a model that can be switched off. */
interface Part {
  name: string;
  kind: string;
  layer: number; // from 1
  heads: number; // 0: it has none
  rows: number;
  columns: number;
}

interface MatrixShape {
  left: number;
  above: number;
  cellX: number;
  cellY: number;
  rowRoom: number;
  columnRoom: number;
  isFlat: boolean;
  isTurned: boolean;
  x: number;
  y: number;
}

interface Axes {
  rows: string;
  columns: string;
}

interface Painted {
  draw: CanvasRenderingContext2D;
  table: Table;
  state: Moved;
  shape: MatrixShape;
  ratio: number;
  dots: HTMLCanvasElement;
  axes?: Axes;
}

interface Recalled {
  state: Partial<State>;
  given: Record<string, string>;
  changes: Changes;
  isOdd: boolean;
}

interface Data extends Inspected {
  live?: Live;
  read(name: string): string | null;
  kept: Map<string, Float32Array>;
  map(kind: string, key: string): Float32Array | null;
  table(kind: string, key: string, byWords: boolean): Table | null;
  isStory: boolean;
}

interface Scaled {
  scale: string;
}

interface Moved extends Scaled {
  zoom: number;
  moveX: number;
  moveY: number;
  repaint?: () => void;
}

interface State extends Moved {
  data: Data;
  kind: string;
  key: string;
  view: string;
  byWords: boolean;
  cell: { row: number; column: number } | null;
  place: { stack: string; row: number } | null;
  beside: string;
  repaint: () => void;
  refresh: () => void;
}

interface View {
  name: string;
  title: string;
  key: string;
  isScaled?: boolean;
  isMap?: boolean; // of a kind, layer and head that are chosen
  isSingle?: boolean; // of single heads only
  isPicture?: boolean; // what it shows can be saved as a picture
  group?: string;
  says?(state: State): string[];
  fits(data: Data): boolean;
  draw(state: State, box: HTMLElement): void;
}

interface LookBox {
  box: HTMLElement;
  show(fields: Record<string, unknown>): Promise<unknown>;
}

interface Translated extends Validated {
  source_tokens: string[];
  alignment: [number, number][];
  alternatives: Translated[];
}

/** One validation of a training: sample outputs, and attention on a few examples. */
interface Frame {
  step: number;
  samples: string[][];
  probes: { rows: string[]; columns: string[]; maps: number[][][] }[];
}

/** A candidate in the picture of a beam: its column is its step, its row its rank there. */
interface BeamPlace {
  index: number;
  column: number;
  row: number;
}

interface BeamNode {
  next: Map<string, BeamNode>;
  scores: (number | null)[];
}

interface Validated {
  text: string;
  score: number | null;
}

type Ask = (path: string, fields?: Record<string, unknown>, signal?: AbortSignal) => Promise<any>;

interface Regard {
  views: View[];
  panels: Record<string, (served: any) => HTMLElement>;

  Data: new (read: (name: string) => string | null) => any; // a Data, but for what it is given
  LiveData: new (found: Inspected) => any;
  groups(words: (number | null)[]): number[][];
  make<K extends keyof HTMLElementTagNameMap>(name: K, attributes?: Attributes, ...children: Child[]): HTMLElementTagNameMap[K];
  space: string;
  svg(name: string, attributes: Record<string, string | number>): Element;
  shown(token: string): string;
  percent(value: number): string;
  number(value: number, digits: number): string;

  ramps: Record<Theme, Color[]>;
  sides: Record<Theme, { gain: Color; loss: Color }>;
  side(value: number): Color;
  diverge(value: number): Color;
  isDark(): boolean;
  color(value: number): Color;
  css(color: Color, alpha?: number): string;
  ink(color: Color): string;
  setTheme(theme: Theme): void;
  share(state: Scaled, weight: number, most: number): number;
  more(): string;
  ramp(least: string, most: string): HTMLElement;
  legend(state: Scaled, most?: string): HTMLElement;

  language(code: string | undefined): string;
  axes(kind: string, byWords: boolean): Axes;
  kindName(kind: string): string;
  kindSays(kind: string): string;
  keyName(state: { key: string }): string;
  says(texts: string[]): HTMLElement;
  phrases: { maps: string; point(state: State): string };
  headRow(texts: string[], numbers?: number[]): HTMLElement;
  scroll(label: string, ...children: Child[]): HTMLElement;
  cut(text: string, most: number): string;
  wordsOf(text: string): { word: string; start: number }[];
  isRightToLeft(text: string): boolean;
  spaceless: RegExp;
  hasWords(kind: Pick<Kind, "rows" | "columns" | "row_words" | "column_words">): boolean;

  matrix(canvas: HTMLCanvasElement, table: Table, state: Moved, readout: HTMLElement, more?: { axes?: Axes; room?: number; pick?: (at: Cross) => void }): void;
  matrixFont: string;
  matrixShape(draw: CanvasRenderingContext2D, table: Table, room: number, hasTitles: boolean): MatrixShape;
  matrixDots(table: Table, state: Scaled): HTMLCanvasElement;
  paintMatrix(given: Painted, pointed: Cross | null): void;
  paintNumbers(given: Painted, stepX: number, stepY: number): void;
  paintLabels(given: Painted, stepX: number, stepY: number, ink: string): void;
  paintTitles(given: Painted, axes: Axes, ink: string): void;
  fit(draw: CanvasRenderingContext2D, text: string, room: number): string;
  nextCell(at: Cross | null, key: string, table: { width: number; height: number }): Cross | null;
  cellPicker(state: State): ((at: Cross) => void) | undefined;
  strongestHead(state: State, row: number, column: number): string;
  besides: Map<string, any>;
  others: Map<string, Ask>;
  openOther?: (done: (name: string) => void) => void;
  chooseOther(engine: string): (done: (name: string) => void) => void;
  othersOf(models: any[], model: any): Map<string, Ask>;
  besideAsked(state: State): { ask: Ask; fields: Record<string, unknown>; name(other: Data): string } | null;
  keyIn(other: Data, state: { kind: string; key: string }): string | null;
  besideControls(state: State): HTMLElement[];
  besideTable(state: State): { table: Table; name: string } | null;
  pictureButtons(state: State): HTMLElement[];
  takePicture(state: State, kind: string): Promise<void>;
  keepPicture(svg: Element, kind: string, name: string): Promise<void>;
  headsSvg(state: State): Element;
  save(blob: Blob, name: string): void;
  withStyles(svg: Element): Element;
  mapSvg(table: Table, state: State): Element;
  svgText(text: string, attributes: Record<string, string | number>): Element;
  tellingRow(table: Table): number;
  pen(canvas: HTMLCanvasElement): CanvasRenderingContext2D;
  top(values: Iterable<number>): number;
  zoom(state: Moved, factor: number): void;
  thumbnail(state: State, about: Kind, layer: number, head: number): HTMLElement;
  probabilityBar(value: number): HTMLElement;
  logitLens(data: Data, index: number): HTMLElement[];
  rolesOf(data: Data, kind: string, layer: number, head: number): Record<string, number> | null;
  rankRoles(scores: Record<string, number> | null): [string, number][];
  nameRole(one: [string, number]): string;
  bestRole(scores: Record<string, number> | null): string;
  describeHead(scores: Record<string, number> | null): string;
  layOutBeam(beam: Beam, isWhole: boolean): BeamPlace[];
  followBeam(beam: Beam, index: number): number[];
  drawBeam(beam: Beam, isWhole: boolean, room: number, point: (index: number) => void): Element;
  describeNode(beam: Beam, index: number): string;
  finishedTable(beam: Beam): HTMLElement;
  bestNode(beam: Beam): number;
  textOf(beam: Beam, index: number): string;
  sentence(labels: string[], side: string): { line: HTMLElement; spans: HTMLElement[] };
  links(data: Data): [number, number][];
  reach(values: number[]): number;
  bar(value: number, most: number): HTMLElement;
  offOf(data: Data, kind: string, layer: number, head: number): HeadAblation | undefined;
  switches(state: State): HTMLElement;

  firstHead(state: State): string;
  strongestIn(state: State, row: number): number;
  cellOf(state: State): { row: number; column: number };
  productCard(found: CellNumbers, cell: { column: number }): HTMLElement;
  rowCard(state: State, found: CellNumbers, cell: { row: number; column: number }): HTMLElement;
  headsCard(state: State, found: CellNumbers): HTMLElement;
  barCell(value: number, most: number): HTMLElement;
  largestOf(values: Float32Array, count: number): number[];
  streamsOf(data: Data): { stack: string; name: string; labels: string[]; hint: string }[];
  subLayerName(name: string): string[];
  streamTable(found: { steps: StreamStep[]; units: { name: string; units: ActiveUnit[] }[] }): HTMLElement;
  placeLabel(x: number, y: number, long: number, high: number, room: { wide: number; tall: number; taken: number[][] }): Cross | null;
  planeSvg(points: Near["points"]): Element;
  nearTable(words: Near["words"]): HTMLElement;
  positionsOf(positions: Near["positions"]): HTMLElement[];
  toggleEdit(live: Live, edit: Edit): void;
  board(state: State): HTMLElement[];
  temperatureAt(place: number): number;
  temperaturePlace(value: number): number;
  temperature(state: State): HTMLElement[];
  swapWords(state: State): HTMLElement[];
  isCausal(data: Data): boolean;
  storyBoard(state: State): HTMLElement;
  outcome(state: State, found: { changes: ChangedToken[]; written: string | null }): Node[];
  changeTable(one: ChangedToken): HTMLElement;
  changeCell(difference: number): HTMLTableCellElement;
  tourStops: { view: string; words: string }[];
  tour(box: HTMLElement): void;
  tourButton(box: HTMLElement): HTMLElement;

  about?: Record<string, any>; // the model in the page
  hasTheme?: boolean; // whether the page has a button for dark and light
  isAddressed?: boolean; // whether the state is kept in the address
  recalled?: Recalled;
  readFragment(hash: string): Recalled;
  writeEdit(edit: Edit): string;
  readEdit(text: string): Edit | null;
  isPossible(edit: Edit, kinds: Record<string, Kind>): boolean;
  partsOf(kinds: Record<string, Kind>): Part[];
  describeEdit(edit: Edit, kinds: Record<string, Kind>): string;
  temperatureName(value: number): string;
  remember(state: State): void;

  show(box: HTMLElement, data?: Data): State;
  viewsOf(data: Data): View[];
  groupNames: string[];
  heldFocus(box: HTMLElement): string | null;
  refocus(box: HTMLElement, held: string | null): void;
  tabs(state: State, views: View[]): HTMLElement[];
  choose(name: string, options: string[][], chosen: string, change: (value: string) => void, label?: string): HTMLElement;
  mapNames(state: State, isSingle: boolean): string[][];
  themeButton(): HTMLElement;
  keysOf(data: Data, views: View[]): string;
  changesBar(data: Data): HTMLElement;
  later(box: HTMLElement, answer: Promise<any>, draw: (found: any) => Node[]): void;
  readHere(name: string): string | null;
  controls(state: State, view: View, kinds: string[]): HTMLElement[];
  follow(state: State, before: State, views: View[]): void;
  chooseKind(state: State, kind: string): void;
  press(state: State, views: View[], kinds: string[], event: KeyboardEvent): void;

  ask(path: string, fields?: Record<string, unknown>, signal?: AbortSignal): Promise<Response>;
  askJson(path: string, fields?: Record<string, unknown>, signal?: AbortSignal): Promise<any>;
  newest<Given extends any[]>(work: (signal: AbortSignal, ...given: Given) => Promise<unknown>): (...given: Given) => Promise<unknown>;
  complain(message: string): void;
  report(problem: unknown): void;
  load(script: string): Promise<unknown>;
  after<Given extends any[]>(milliseconds: number, work: (...given: Given) => unknown): (...given: Given) => void;
  askStream(path: string, fields: Record<string, unknown>, signal: AbortSignal, take: (part: any) => void): Promise<unknown>;
  isHere?: boolean; // whether the model is in the page
  connect(worker: Worker): (path: string, fields?: Record<string, unknown>, signal?: AbortSignal, take?: (part: any) => void) => Promise<any>;
  startModel(about: any, parts: { engine: string; tokenizer: string; weights: string }): Worker;
  runShared(models: any[]): void;
  openModel(box: HTMLElement): void;
  flat(map: number[][] | Float32Array): Float32Array;
  flatMap(data: Inspected, about: Kind, key: string): Float32Array;
  lookBox(...invitation: string[]): LookBox;
  field(label: string, input: HTMLElement): HTMLElement;
  caption(name: string, hint?: string): HTMLElement;
  desk(panel: HTMLElement): HTMLElement;
  events(response: Response, take: (event: any) => void): Promise<void>;
  beamTree(found: Validated[]): HTMLElement;
  snapshots(isShown?: (step: number) => void): { box: HTMLElement; add(more: any[]): void; newest(): number };
  sample(texts: string[], step: number): HTMLElement;
  history(packed: string): Promise<HTMLElement>;
  ticks(low: number, high: number, isLog: boolean): number[];
  brief(value: number): string;
  axis(values: number[], from: number, to: number): { isLog: boolean; ticks: number[]; at(value: number): number };
  curveNames: Record<string, string>;
  curve(name: string, points: [number, number][], mark?: number | null): HTMLElement;
  curves(): { box: HTMLElement; show(events: Record<string, any>[]): void; mark(step: number): void };
}
