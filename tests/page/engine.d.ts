// What the scripts of the engine share: one global object, `engine`, that each file adds its part to.

interface Tensor {
  shape: number[];
  data: Float32Array;
  simd?: Simd | null; // what computes with it, where its weights are in such a memory
}

interface Simd {
  room: Float32Array;
  linear(x: Float32Array, weight: Tensor, found: Float32Array, whole: number): void;
}

type Weights = Map<string, Tensor>;
type Layer = (x: Float32Array) => Float32Array;
type Numbers = ArrayLike<number>;

/** A tensor as the page lists it. */
interface Listed {
  name: string;
  shape: number[];
  kind: "float32" | "float16" | "int8";
}

/** The settings of a network (regard/config.py, ModelConfig). */
interface ModelConfig {
  kind: string;
  width: number;
  heads: number;
  kv_heads: number | null;
  value_width: number | null;
  norm: "pre" | "post";
  epsilon: number;
  activation: "relu" | "gelu" | "gelu_new" | "silu";
  is_gated: boolean;
  positions: "sinusoidal" | "learned" | "rotary";
  rotary_base: number;
  max_positions: number;
  hops: number;
  tying: "adjacent" | "layer-wise";
  controller: "question" | "zero";
  vocab_size: number;
  buckets: number;
  labels: string[];
  several_labels: boolean;
}

interface Generation {
  start: number;
  first: number | null;
  ends: number[];
  suppressed: number[];
  is_end_forced: boolean;
}

/** What a page holds beside weights and tokenizer. */
interface About {
  name: string;
  task: string;
  config: ModelConfig;
  generation: Generation;
  roles: Roles;
  weights: Listed[];
  alignment: { layer: number; heads: number[]; is_after?: boolean };
  longest: number;
  places: number;
  [fact: string]: any;
}

interface Roles {
  begin?: number;
  end?: number;
  pad?: number;
  unknown?: number;
  mask?: number;
}

/** Keys and values of each place. */
interface Seen {
  keys: Float32Array[];
  values: Float32Array[];
}

interface KeyValueCache {
  length: number;
  rows: Seen[][]; // of each row and block
}

/** A change: a head, a sub-layer or a layer off, a head's temperature, one of its weights; no positions, no causal mask. */
interface Edit {
  what: "off" | "temperature" | "weight" | "positions" | "mask";
  name?: string; // of an attention, a sub-layer or a block
  head?: number; // from 0
  value?: number;
  row?: number;
  column?: number;
}

interface FixedWeight {
  row: number;
  column: number;
  value: number;
}

/** Edits by what they change; heads by their attention's name and their number. */
interface Edits {
  off: Set<string>;
  temperatures: Map<string, number>;
  weights: Map<string, FixedWeight[]>;
  isWithoutPositions: boolean;
  isWithoutMask: boolean;
}

/** What is changed in a pass that explains. */
interface Change {
  edits?: Edit[];
  scaled?: { place: number; factor: number } | null;
}

/** What a sub-layer wrote to the residual stream, and the stream after it: (T, D). */
interface Write {
  name: string;
  written: Float32Array;
  after: Float32Array;
}

interface Taps {
  attention: Record<string, Float32Array>; // (H, T, S) by the name of the attention
  hidden: Float32Array[];
  edits: Edits | null;
  whole: { vectors: Record<string, Seen & { queries: Float32Array; count(row: number): number }>; units: Record<string, Float32Array>; writes: Write[] } | null;
}

interface Attention {
  read(x: Float32Array, places?: number[] | null): Seen;
  forward(x: Float32Array, seen: (row: number) => Seen, count: (row: number) => number, places?: number[] | null, taps?: Taps | null): Float32Array;
}

interface Block {
  readMemory(memory: Float32Array): Seen;
  forward(x: Float32Array, given: { places: number[]; held: Seen[]; isCausal: boolean; memory: Seen | null; taps: Taps | null }): Float32Array;
}

interface Stack {
  norm: Layer;
  readMemory(memory: Float32Array): Seen[];
  openCache(): KeyValueCache;
  forward(x: Float32Array, options: { isCausal?: boolean; memory?: Seen[] | null; cache?: KeyValueCache | null; taps?: Taps | null }): Float32Array;
}

interface Hypothesis {
  ids: number[];
  score: number;
  isFinished: boolean;
}

type Step = ((last: number[]) => Float32Array[]) & { keep(parents: number[]): void };

interface Candidate {
  score: number;
  beam: number;
  token: number;
}

/** One candidate of a beam search. final: of a finished one, its score by length. */
interface Tried {
  parent: number;
  token: number;
  logProb: number;
  score: number;
  fate: "kept" | "dropped" | "finished";
  final?: number;
}

interface Sampling {
  temperature?: number;
  topK?: number | null;
  topP?: number | null;
}

interface Tokenizer {
  roles: Roles;
  special: Set<number>;
  pieces: string[];
  words(text: string): string[];
  encode(text: string): number[];
  encodePart(text: string): number[];
  encodeTarget(text: string): number[];
  tokens(ids: number[]): string[];
  specialTokens(): Set<string>;
  unknown(text: string): string[];
  decode(ids: number[]): string;
}

interface LiveKind {
  rows: string[];
  columns: string[];
  row_words: (number | null)[];
  column_words: (number | null)[];
  layers: number;
  heads: number;
  weights: Float32Array[][]; // of each layer and head, (T, S)
  entropy: number[][];
  sink: (number | null)[][];
  rollout: Float32Array;
}

/** A network that predicts tokens. */
interface Predicting {
  width: number;
  logits(hidden: Float32Array): Float32Array[];
}

interface TranslatorModel extends Predicting {
  decoder: Stack;
  start: number;
  force(source: number[], target: number[], taps: Taps | null, scaled?: Change["scaled"]): Float32Array;
  open(source: number[], prefix: number[]): Step;
}

interface TextModel extends Predicting {
  stack: Stack;
  read(ids: number[], taps: Taps | null, scaled?: Change["scaled"]): Float32Array;
}

interface WriterModel extends TextModel {
  open(ids: number[]): { logits: Float32Array; step(id: number): Float32Array };
}

interface AnswererModel {
  read(sentences: number[][], question: number[]): { logits: Float32Array; hops: number[][] };
}

interface ClassifierModel {
  worth(vector: Float64Array, label: number): number;
  read(words: string[]): Float64Array;
  match(query: Float64Array): Float32Array;
  probabilities(logits: Float32Array): Float32Array;
  logProbability(logits: Float32Array, label: number): number;
  slope(logits: Float32Array, label: number): Float64Array;
}

interface StoryBlock {
  read(x: Float32Array): Seen;
  readMemory(memory: Float32Array): Seen;
  forward(x: Float32Array, seen: Seen, newest: May, others: May): { x: Float32Array; mean: Float32Array };
}

/** Whether a row may attend to a place. */
type May = (row: number, place: number) => boolean;

/** What a look into a text is about. */
interface TextLook {
  target: number[];
  rows: number[];
  places: number[];
  shift: number;
  read(source: number[], change: Change): Float32Array[];
  why: boolean;
  pause: Pause;
  instead: number;
  edits: Edit[];
  bar?: (logits: Float32Array) => Float32Array;
}

/** What a model reads and predicts; write: what it would write by itself. */
interface Pass {
  ids: number[];
  target: number[];
  run(taps: Taps): Float32Array[];
  write?(edits: Edit[]): string;
}

/** One cell of a head. */
interface Cell {
  kind: string;
  layer: number; // from 1
  head: number; // from 0
  row: number;
}

/** Takes the parts of an answer that is sent bit by bit. */
type Push = (part: any) => Promise<void>;
/** Lets messages come in between; fails where the answer is not waited for any more. */
type Pause = () => Promise<void>;
type Route = (fields: any, push: Push, pause: Pause) => unknown;

/** A model of a family: the routes of the server that it answers. */
interface LiveModel {
  model: any;
  routes: Record<string, Route>;
  [part: string]: any;
}

interface Engine {
  families: Record<string, (about: About, weights: Weights, tokenizer: Tokenizer) => LiveModel>;

  linear(x: Float32Array, weight: Tensor, bias?: Tensor): Float32Array;
  linearInFours(x: Float32Array, weight: Tensor, found: Float32Array, whole: number): void;
  assemble(): Uint8Array<ArrayBuffer>;
  openSimd(count: number): Simd | null;
  add(x: Float32Array, y: Float32Array): Float32Array;
  layerNorm(x: Float32Array, weight: Tensor, bias: Tensor, epsilon: number): Float32Array;
  rmsNorm(x: Float32Array, weight: Tensor, epsilon: number): Float32Array;
  softmax<Kind extends Float32Array | Float64Array>(x: Kind, count?: number): Kind;
  logSumExp(logits: ArrayLike<number>): number;
  logSoftmax(logits: Float32Array): Float64Array<ArrayBuffer>;
  erf(x: number): number;
  activations: Record<ModelConfig["activation"], (x: number) => number>;
  largest(numbers: Numbers, count: number): number[];
  rows(x: Float32Array, width: number): Float32Array[];

  decodeBase64(text: string): Uint8Array<ArrayBuffer>;
  inflate(text: string): Promise<string>;
  halves(): Float32Array;
  readWeights(bytes: Uint8Array, listed: Listed[], isPlain?: boolean): Weights;

  readLinear(weights: Weights, name: string): Layer;
  need(weights: Weights, name: string): Tensor;
  embed(table: Tensor, ids: number[], scale?: number, scaled?: Change["scaled"]): Float32Array;
  gather(x: Float32Array, places: number[], width: number): Float32Array;
  readNorm(weights: Weights, name: string, epsilon: number): Layer;
  sinusoids(place: number, width: number): Float32Array;
  rotate(x: Float32Array, heads: number, places: number[], base: number): Float32Array;
  makeAttention(weights: Weights, name: string, config: ModelConfig): Attention;
  makeFeedForward(weights: Weights, name: string, config: ModelConfig): (x: Float32Array, taps?: Taps | null) => Float32Array;
  makeResidual(weights: Weights, name: string, config: ModelConfig): (x: Float32Array, layer: Layer) => Float32Array;
  makeBlock(weights: Weights, name: string, config: ModelConfig): Block;
  makeStack(weights: Weights, name: string, config: ModelConfig): Stack;
  keepRows(cache: KeyValueCache, parents: number[]): void;

  makeTaps(edits?: Edit[], isWhole?: boolean): Taps;
  readEdits(edits: Edit[]): Edits;
  weigh(scores: Float64Array, count: number, edits: Edits | null | undefined, name: string, head: number, row: number): Float64Array;
  temper(scores: Float64Array, count: number, temperature: number): void;
  fixWeights(weights: Float64Array, count: number, fixed: FixedWeight[]): void;
  writeTo(x: Float32Array, residual: (x: Float32Array, layer: Layer) => Float32Array, name: string, taps: Taps | null, layer: Layer): Float32Array;

  greedy(step: Step, start: number, ends: number[], limit: number, prefix?: number[]): Hypothesis;
  beam(step: Step, start: number, ends: number[], limit: number, width: number, count: number, prefix?: number[], tree?: Tried[]): Hypothesis[];
  rank(one: Hypothesis): number;
  bestCandidates(logProbs: Float64Array[], scores: number[], count: number): Candidate[];
  cutRepetition(ids: number[]): number[];
  makeRandom(seed: number): () => number;
  draw(logits: Float32Array, sampling: Sampling, random: () => number): number;
  nucleus(order: number[], logits: Float32Array, temperature: number, share: number): number[];

  characters: Record<string, string>;
  characterClass(name: string): string;
  regex(pattern: string): RegExp;
  split(text: string, pattern: RegExp, behavior: string, isInverted: boolean): string[];
  byteLetters: string[];
  byteNumbers: Map<string, number>;
  toBytes(text: string): string;
  fromBytes(pieces: string[]): string;
  lowercase(text: string): string;
  normalizers: Record<string, (about: any) => (text: string) => string>;
  preTokenizers: Record<string, (about: any) => (words: string[]) => string[]>;
  pieceModels: Record<string, (about: any) => (word: string) => number[]>;
  refuseHalves(text: string): void;
  makeTokenizer(described: any, roles: Roles): Tokenizer;
  cleanUp(text: string): string;

  wordsOf(tokens: string[]): (number | null)[];
  alignWords(attention: Numbers[], sourceTokens: string[], targetTokens: string[]): [number, number][];

  layersOf(taps: Taps, part: string, kind: string): Float32Array[];
  makeKind(rows: string[], columns: string[], layers: Float32Array[], heads: number, special: Set<string>): LiveKind;
  wordsShown(tokens: string[], special: Set<string>): (number | null)[];
  measure(kinds: Record<string, LiveKind>): void;
  mean(maps: Float32Array[]): Float32Array;
  product(a: Float32Array, b: Float32Array, columns: number): Float32Array;
  findSink(head: Float32Array, height: number, width: number): number | null;
  likeliest(logits: Float32Array, count: number, tokenizer: Tokenizer): [string, number][];
  scoreTokens(logits: Float32Array[], ids: number[], places: number[], tokenizer: Tokenizer): TokenScore[];
  logitLens(states: Float32Array[], model: Predicting, norm: Layer, places: number[], tokenizer: Tokenizer): [string, number][][][];
  headsOf(taps: Taps, heads: number): { kind: string; name: string; layer: number; head: number }[];
  explain(asked: {
    source: number[]; target: number[]; rows: number[]; words: (number | null)[]; instead: number | null; tokenizer: Tokenizer; attended: Numbers[]; pause: Pause;
    read(source: number[], change: Change): Float32Array[]; heads: { kind: string; name: string; layer: number; head: number }[];
  }): Promise<Why>;

  argmaxOverlap(found: number[][], attended: Numbers[]): number;
  lookAtText(model: TextModel, ids: number[], look: TextLook, config: ModelConfig, tokenizer: Tokenizer): Promise<Record<string, unknown>>;

  attentionName(kind: string, layer: number): string;
  norm(x: Numbers): number;
  dot(a: Numbers, b: Numbers): number;
  cosine(a: Numbers, b: Numbers): number;
  cellNumbers(taps: Taps, weights: Weights, config: ModelConfig, cell: Cell): CellNumbers;
  streamNumbers(taps: Taps, stack: string, place: number, width: number, predict: ((x: Float32Array) => [string, number][]) | null): StreamStep[];
  activeUnits(taps: Taps, weights: Weights, name: string, place: number, count: number, promote: ((x: Float32Array) => [string, number][]) | null): ActiveUnit[];
  compareLogits(before: Float32Array[], after: Float32Array[], target: number[], tokenizer: Tokenizer): ChangedToken[];
  nearestWords(table: Tensor, ids: number[], count: number, tokenizer: Tokenizer): Pick<Near, "words" | "points">;
  onPlane(vectors: Float32Array[]): number[][];
  insideRoutes(open: (fields: any) => Pass, given: {
    model: Predicting; stacks: Record<string, Stack | null>; weights: Weights; config: ModelConfig; tokenizer: Tokenizer;
  }): Record<string, Route>;

  makeTranslator(config: ModelConfig, weights: Weights, generation: Generation): TranslatorModel;
  stepsAfter<Row>(rows: Row[], alignment: { is_after?: boolean }): Row[];
  limitOf(length: number): number;
  makeWriter(config: ModelConfig, weights: Weights, generation: Generation): WriterModel;
  makeFiller(config: ModelConfig, weights: Weights): TextModel;
  makeAnswerer(config: ModelConfig, weights: Weights, pad: number): AnswererModel;
  makeMemoryNetwork(config: ModelConfig, weights: Weights): AnswererModel;
  makeStoryTransformer(config: ModelConfig, weights: Weights, pad: number): AnswererModel;
  makeStoryBlock(weights: Weights, name: string, config: ModelConfig): StoryBlock;
  newestMatch(scores: Float64Array): Float64Array;

  makeClassifier(config: ModelConfig, weights: Weights): ClassifierModel;
  labelWords(text: string): string[];
  wordPattern?: RegExp;
  hashNgrams(words: string[]): number[][];
  mix(numbers: number[]): number;

  yieldOnce(): Promise<unknown>;
  open(page: { about: About; tokenizer: string; weights: string }): Promise<LiveModel>;
  listen(scope: { onmessage: ((event: MessageEvent) => unknown) | null; postMessage(message: unknown): void }): void;
}
