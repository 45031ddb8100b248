// An axis of a picture: where the cells are, what its ticks say, and which way it goes.
import type { Domain } from '@h5web/lib';

import type { LegendAxis } from '../legends';
import { formatIn } from './numbers';

export interface PictureAxis {
  label: string | undefined;
  // The place of each value.
  places: number[];
  // The borders of the first and the last cell.
  domain: Domain;
  isIndexAxis: boolean;
  isFlipped: boolean;
  formatTick: (place: number) => string;
  textAt: (index: number) => string;
}

const DIGITS = 6;

interface Unit {
  seconds: number;
  // The part of the ISO date that ticks show, and that is the same for all of them.
  ticks: [number, number];
  common: number;
}

// Ticks are at round numbers of the unit: whole days, hours or minutes.
const UNITS: Unit[] = [
  { seconds: 86_400, ticks: [0, 10], common: 0 },
  { seconds: 3600, ticks: [5, 16], common: 4 },
  { seconds: 60, ticks: [11, 16], common: 10 },
  { seconds: 1, ticks: [11, 19], common: 10 },
];
// A unit is used for axes of so many of it.
const MIN_UNITS = 4;

export function iso(seconds: number): string {
  return new Date(seconds * 1000).toISOString().replace('T', ' ');
}

function dateAt(seconds: number): string {
  return iso(seconds).slice(0, 19).replace(/ 00:00:00$/u, '');
}

function numbered(label: string | undefined, size: number, textAt: (index: number) => string = String): PictureAxis {
  const isIndex = (place: number) => Number.isInteger(place) && place >= 0 && place < size;
  return {
    label,
    places: Array.from({ length: size }, (_, index) => index),
    domain: [-0.5, size - 0.5],
    isIndexAxis: true,
    isFlipped: false,
    formatTick: (place) => (isIndex(place) ? textAt(place) : ''),
    textAt,
  };
}

function timed(axis: LegendAxis, seconds: number[]): PictureAxis {
  const first = seconds[0] ?? 0;
  const length = Math.abs((seconds.at(-1) ?? 0) - first);
  const unit = UNITS.find((one) => length >= MIN_UNITS * one.seconds) ?? { seconds: 1, ticks: [11, 23] as [number, number], common: 10 };
  const origin = Math.floor(first / 86_400) * 86_400;
  const places = seconds.map((one) => (one - origin) / unit.seconds);
  return {
    label: unit.common ? `${axis.label} (${iso(first).slice(0, unit.common)})` : (axis.label ?? undefined),
    places,
    domain: borders(places),
    isIndexAxis: false,
    isFlipped: false,
    formatTick: (place) => iso(origin + place * unit.seconds).slice(...unit.ticks),
    textAt: (index) => dateAt(seconds[index] ?? NaN),
  };
}

function borders(places: number[]): Domain {
  const first = places[0] ?? 0;
  const last = places.at(-1) ?? 0;
  const half = places.length > 1 ? (last - first) / (places.length - 1) / 2 : 0.5;
  return [first - half, last + half];
}

function short(value: number): string {
  return String(Number(value.toPrecision(DIGITS)));
}

// The axis of a dimension. Cells of an image have one size: coordinates that are irregular are written at their cells then.
export function axisOf(axis: LegendAxis | undefined, size: number, isImage: boolean, isUpright = false): PictureAxis {
  if (!axis || axis.kind === 'none' || axis.values.length !== size) {
    return numbered(axis?.label ?? undefined, size);
  }
  if (axis.kind === 'texts') {
    return numbered(axis.label ?? undefined, size, (index) => String(axis.values[index]));
  }
  const values = axis.values.map(Number);
  const isFlipped = values.length > 1 && (values[0] ?? 0) > (values.at(-1) ?? 0) !== (isUpright && axis.role === 'down');
  if (isImage && !axis.is_regular) {
    const text = axis.kind === 'times' ? (index: number) => dateAt(values[index] ?? NaN) : (index: number) => short(values[index] ?? NaN);
    return { ...numbered(axis.label ?? undefined, size, text), isFlipped };
  }
  if (axis.kind === 'times') {
    return { ...timed(axis, values), isFlipped };
  }
  const ends = borders(values);
  const format = formatIn(ends);
  return {
    label: axis.label ?? undefined,
    places: values,
    domain: ends,
    isIndexAxis: false,
    isFlipped,
    formatTick: format,
    textAt: (index) => format(values[index] ?? NaN),
  };
}

// The index of the value that is nearest to a place.
export function indexAt({ places, isIndexAxis }: PictureAxis, place: number): number {
  if (isIndexAxis) {
    return Math.min(Math.max(Math.round(place), 0), places.length - 1);
  }
  let low = 0;
  let high = places.length - 1;
  const isRising = (places[high] ?? 0) >= (places[low] ?? 0);
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if ((places[middle] ?? 0) <= place === isRising) {
      low = middle;
    } else {
      high = middle;
    }
  }
  return Math.abs((places[low] ?? 0) - place) <= Math.abs((places[high] ?? 0) - place) ? low : high;
}
