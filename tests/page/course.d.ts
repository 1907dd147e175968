// What the scripts of the course share: one global object, `course`, that each file adds its part to.

type Drawn = Node | Node[];
type Rows = (number | null)[][];

/** Which of a lesson's predictions came true, and the numbers. */
interface Measured {
  choice: number;
  text: string;
}

interface Experiment {
  measure(): Measured | Promise<Measured>;
}

/** A model that the page holds, opened. */
interface CourseModel extends LiveModel {
  about: About;
  config: ModelConfig;
  weights: Weights;
  tokenizer: Tokenizer;
}

/** A matrix that knows its gradient, what it was made from, and how it passes its gradient on to that. */
interface Matrix {
  rows: number;
  columns: number;
  data: Float64Array;
  grad: Float64Array;
  from: Matrix[];
  pass(grad: Float64Array): void;
}

/** What a pass through a causal Transformer leaves out or changes. */
interface Switches {
  scale?: boolean;
  mask?: boolean;
  residual?(name: string): boolean;
  norm?(name: string): boolean;
  average?: boolean; // one map for all heads
  zero?: number | null; // a place whose vector is set to 0
}

/** What a layer of attention computed, of each head. */
interface Steps {
  products: number[][][];
  scaled: number[][][];
  masked: number[][][];
  shares: number[][][];
  mixed: number[][][];
}

/** A row of symbols that ends with the question, where its mark is, and the marked symbol. */
interface RecallRow {
  ids: number[];
  mark: number;
  answer: number;
}

/** run: logits of a batch, in one matrix or one of each row; held: numbers that the answer is read from. */
interface RecallNetwork {
  weights: Matrix[];
  run(rows: RecallRow[]): Matrix[];
  held(length: number): number;
}

interface RecallResult {
  right: number;
  count: number;
  held: number;
  milliseconds: number;
}

/** A box of the screen that can be looked at. */
interface Glimpse {
  y: number;
  x: number;
  high: number;
  wide: number;
}

interface Course {
  experiments: Record<string, (box: HTMLElement, model: CourseModel) => Experiment | Promise<Experiment>>;
  models: Map<string, Promise<CourseModel | null>>;
  readHere(name: string): string | null;
  open(task: string): Promise<CourseModel | null>;
  read(task: string): Promise<CourseModel | null>;
  start(): void;
  links(): HTMLAnchorElement[];
  begin(article: HTMLElement): Promise<void>;
  compare(article: HTMLElement, measured: Measured, options: HTMLInputElement[]): void;
  wireCheck(article: HTMLElement): void;
  markDone(article: HTMLElement): void;

  slider(label: string, range: [least: number, most: number, step: number, value: number], change: (value: number) => void): HTMLElement;
  button(label: string, act: () => void): HTMLElement;
  select(label: string, options: string[], change: (place: number) => void): HTMLElement;
  which(label: string, count: number, change: (place: number) => void, chosen?: number): HTMLElement;
  tick(label: string, change: (is: boolean) => void, isOn?: boolean): HTMLElement;
  input(label: string, value: string, change: (value: string) => void): HTMLElement;
  area(label: string, value: string, change: (value: string) => void): HTMLElement;
  row(...parts: Child[]): HTMLElement;
  note(text: string): HTMLElement;
  heading(text: string): HTMLElement;
  drawing(draw: () => Drawn | Promise<Drawn>): { box: HTMLElement; show(): Promise<void> };

  number(value: number, digits?: number): string;
  tiny(value: number): string;
  power(value: number): string;
  label(text: string): string;
  bars(labels: string[], values: Numbers, most?: number, digits?: number): HTMLElement;
  table(columns: string[], rows: (string | number)[][]): HTMLElement;
  heat(rows: string[], columns: string[], values: Rows, how?: { digits?: number; act?: ((y: number, x: number) => void) | null; plain?: boolean; bare?: boolean }): HTMLElement;
  lines(series: Record<string, number[]>, how?: { most?: number | null; across?: string; ticks?: [number, string][] | null }): SVGElement;

  Matrix: new (rows: number, columns: number, data?: Float64Array, from?: Matrix[], pass?: (grad: Float64Array) => void) => Matrix;
  matrix(rows: number[][]): Matrix;
  rowsOf(x: Matrix, data?: Float64Array): number[][];
  fresh(rows: number, columns: number, random: () => number, spread?: number): Matrix;
  back(loss: Matrix): void;
  multiply(a: Matrix, b: Matrix): Matrix;
  transpose(x: Matrix): Matrix;
  plus(a: Matrix, b: Matrix): Matrix;
  times(a: Matrix, b: Matrix): Matrix;
  scale(a: Matrix, factor: number, shift?: number): Matrix;
  each(a: Matrix, work: (x: number) => number, slope: (x: number, y: number) => number): Matrix;
  relu(a: Matrix): Matrix;
  tanh(a: Matrix): Matrix;
  sigmoid(a: Matrix): Matrix;
  softmax(a: Matrix, may?: May): Matrix;
  norm(a: Matrix, epsilon?: number): Matrix;
  pick(a: Matrix, rows: number[]): Matrix;
  beside(...parts: Matrix[]): Matrix;
  crossEntropy(logits: Matrix, ids: number[]): Matrix;
  squares(a: Matrix, target: number[]): Matrix;
  adam(weights: Matrix[], rate?: number): () => void;

  recall: { symbols: number; early: number };
  drawRows(random: () => number, count: number, distance: number): RecallRow[];
  freshOnes(random: () => number, shapes: number[][]): Matrix[];
  embedRow(table: Matrix, marks: Matrix, row: RecallRow): Matrix;
  networks: Record<string, (random: () => number, distance: number) => RecallNetwork>;
  recurrent(random: () => number, width: number, gates: number, step: (gates: Matrix[], held: Matrix, inside: Matrix) => Matrix[]): RecallNetwork;

  pass(model: { config: ModelConfig; weights: Weights }, ids: number[], switches?: Switches): { logits: Float32Array[]; maps: number[][][][]; steps: Steps[]; loss: number; hidden: Float32Array };
  encode(model: CourseModel, text: string): number[];
  entropy(row: number[]): number;
}
