// The axes of an overview: where its cells are, and which values a part of the picture stands for.
export interface AnswerAxis {
  dimension: number;
  label: string;
  start: number;
  stop: number;
  coordinate: number[] | null;
}

export interface OverviewAnswer {
  selection: string;
  shape: number[];
  steps: number[];
  values: number;
  is_exact: boolean;
  is_complete: boolean;
  damaged: string[];
  label: string;
  mean: number | null;
  low: (number | null)[];
  high: (number | null)[];
  axes: AnswerAxis[];
  seconds: number;
}

export interface DrawnAxis {
  label: string;
  // The middle of each cell, and the borders of all of them.
  middles: number[];
  borders: number[];
  // Indexes in the dataset of the cells between two places on the axis.
  range: (from: number, to: number) => [number, number];
}

// Irregular coordinates may be this far off, in steps, and are still drawn as cells of one size.
const MAX_SKEW = 0.01;
// Ticks have three digits: far from the beginning they would all be the same.
const MAX_RATIO = 20;

export function axisOf(axis: AnswerAxis, step: number): DrawnAxis {
  const count = Math.ceil((axis.stop - axis.start) / step);
  const at = (cell: number) => Math.min(axis.start + cell * step, axis.stop);
  const range = (first: number, last: number): [number, number] => {
    const cells = [Math.floor(Math.min(first, last)), Math.ceil(Math.max(first, last))].map((cell) => Math.min(Math.max(cell, 0), count));
    const [from = 0, to = count] = cells;
    return [at(from), Math.max(at(to), at(from) + 1)];
  };
  const found = axis.coordinate;
  const first = found?.[0];
  const last = found?.at(-1);
  if (!found || first === undefined || last === undefined || count < 2) {
    const origin = axis.start > MAX_RATIO * (axis.stop - axis.start) ? axis.start : 0;
    return {
      label: origin ? `${axis.label}, counted from ${origin.toLocaleString('en')}` : axis.label,
      middles: Array.from({ length: count }, (_, cell) => (at(cell) + at(cell + 1) - 1) / 2 - origin),
      borders: Array.from({ length: count + 1 }, (_, cell) => at(cell) - origin),
      range: (from, to) => range((from + origin - axis.start) / step, (to + origin - axis.start) / step),
    };
  }
  const width = (last - first) / (count - 1);
  const isRegular = found.every((value, cell) => Math.abs(value - first - cell * width) <= Math.abs(width) * MAX_SKEW * count);
  // Cells have one size in an image: of irregular coordinates it shows the order.
  return {
    label: isRegular ? axis.label : `${axis.label}, irregular: ${first.toPrecision(5)} to ${last.toPrecision(5)}`,
    middles: found,
    borders: Array.from({ length: count + 1 }, (_, cell) => (isRegular ? first + (cell - 0.5) * width : cell)),
    range: (from, to) => (isRegular ? range((from - first) / width + 0.5, (to - first) / width + 0.5) : range(from, to)),
  };
}

// The same for a line, whose coordinates may be irregular.
export function rangeOfLine(axis: DrawnAxis, from: number, to: number): [number, number] {
  const cells = axis.middles.flatMap((middle, cell) => (middle >= Math.min(from, to) && middle <= Math.max(from, to) ? [cell] : []));
  const first = axis.borders[cells[0] ?? 0] ?? 0;
  const last = axis.borders[(cells.at(-1) ?? axis.middles.length - 1) + 1] ?? first;
  return axis.range(first, last);
}

export function domainOf(values: (number | null)[]): [number, number] {
  let low = Infinity;
  let high = -Infinity;
  for (const value of values) {
    if (value !== null && Number.isFinite(value)) {
      low = Math.min(low, value);
      high = Math.max(high, value);
    }
  }
  return low <= high ? [low, high] : [0, 1];
}
