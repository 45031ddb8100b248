// Numbers on axes: with as many digits as tell their ticks apart, also if one zooms in.
import type { Domain } from '@h5web/lib';

// Digits beyond those that all numbers of an axis share, and of a double.
const MORE_DIGITS = 6;
const MAX_DIGITS = 15;
// Numbers beyond these are written with an exponent.
const PLAIN = { least: 1e-4, greatest: 1e7 };

export function formatIn([from, to]: Domain): (value: number) => string {
  const shared = Math.ceil(Math.log10(Math.max(Math.abs(from), Math.abs(to)) / Math.abs(to - from)));
  const digits = Math.min(Math.max(Number.isFinite(shared) ? shared + MORE_DIGITS : MORE_DIGITS, MORE_DIGITS), MAX_DIGITS);
  return (value) => {
    const size = Math.abs(value);
    const rounded = Number(value.toPrecision(digits));
    return size > 0 && (size < PLAIN.least || size >= PLAIN.greatest) ? rounded.toExponential().replace('e+', 'e') : String(rounded).replace('-', '−');
  };
}

// About `count` round numbers within a domain.
export function roundNumbers([from, to]: Domain, count: number): number[] {
  const raw = (to - from) / count;
  if (!(raw > 0) || !Number.isFinite(raw)) {
    return [from];
  }
  const power = 10 ** Math.floor(Math.log10(raw));
  const step = power * ([1, 2, 5].find((one) => one * power >= raw) ?? 10);
  const first = Math.ceil(from / step);
  return Array.from({ length: Math.floor(to / step) - first + 1 }, (_, at) => (first + at) * step);
}
