// What the server says about datasets: names, units, coordinates. Pictures need it when they are drawn, so it is fetched with the description.
import { useSyncExternalStore } from 'react';

import { ask } from './server';

export interface LegendAxis {
  label: string | null;
  kind: 'none' | 'numbers' | 'times' | 'texts';
  role: string;
  values: (number | string)[];
  is_regular: boolean;
}

export interface Category {
  value: number;
  name: string;
}

export interface Legend {
  is_changed: boolean;
  how: string;
  problems: string[];
  label: string;
  stored_label: string;
  categories: Category[];
  picture: string | null;
  axes: LegendAxis[];
}

// Which values H5Web gets.
export type Values = 'decoded' | 'stored';

export interface Shown {
  file: string;
  path: string;
  values: Values;
}

const known = new Map<string, Legend | undefined>();
const listeners = new Set<() => void>();
let shown: Shown | undefined;

function keyOf(file: string, path: string): string {
  return JSON.stringify([file, path]);
}

function tell() {
  listeners.forEach((listen) => listen());
}

const asked = new Map<string, Promise<void>>();

// Of a dataset that cannot be read there is no legend; its values say why.
export function fetchLegend(file: string, path: string): Promise<void> {
  const key = keyOf(file, path);
  const before = asked.get(key);
  const answer =
    before ??
    ask<Legend | null>('legend', { file, path }).then(
      (found) => {
        known.set(key, found ?? undefined);
        tell();
      },
      () => undefined,
    );
  asked.set(key, answer);
  return answer;
}

export function forgetLegends() {
  known.clear();
  asked.clear();
}

export function show(next: Shown) {
  if (next.file !== shown?.file || next.path !== shown.path || next.values !== shown.values) {
    shown = next;
    tell();
  }
}

function subscribe(listen: () => void) {
  listeners.add(listen);
  return () => void listeners.delete(listen);
}

export function useLegend(file: string, path: string): Legend | undefined {
  return useSyncExternalStore(subscribe, () => known.get(keyOf(file, path)));
}

// What is selected; H5Web's pictures do not say which dataset they draw.
export function useShown(): (Shown & { legend: Legend | undefined }) | undefined {
  const now = useSyncExternalStore(subscribe, () => shown);
  const legend = useSyncExternalStore(subscribe, () => now && known.get(keyOf(now.file, now.path)));
  return now && { ...now, legend };
}
