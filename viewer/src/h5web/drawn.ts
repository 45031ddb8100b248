// The dataset and the dimensions that a picture of H5Web draws.
import type { DimensionMapping } from '@h5web/lib';

import { type Legend, useShown } from '../legends';

export interface Drawn {
  legend: Legend;
  label: string;
  mapping: DimensionMapping;
}

// Of the choice of dimensions that stands above the picture, which is rendered before it.
let mapping: DimensionMapping = [];

export function drawDimensions(chosen: DimensionMapping) {
  mapping = chosen;
}

// Undefined for pictures of groups, such as those of NXdata, which H5Web labels itself: their title is not the name of the dataset that is selected.
export function useDrawn(title: string | undefined, extents: number[], axes: string[]): Drawn | undefined {
  const shown = useShown();
  const legend = shown?.legend;
  if (!shown || !legend || title !== shown.path.split('/').at(-1) || legend.axes.length !== mapping.length) {
    return undefined;
  }
  const isDrawn = axes.every((axis) => mapping.includes(axis as 'x' | 'y')) && extents.length === axes.length;
  return isDrawn ? { legend, label: shown.values === 'decoded' ? legend.label : legend.stored_label, mapping } : undefined;
}

const DIGITS = 6;

// A value in words: the name of a category if there are some.
export function valueText({ categories }: Legend, value: number): string {
  if (Number.isNaN(value)) {
    return 'missing';
  }
  const name = categories.find((one) => one.value === value)?.name;
  return name === undefined ? String(Number(value.toPrecision(DIGITS))) : `${name} (${value})`;
}
