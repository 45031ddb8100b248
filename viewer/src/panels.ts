// What H5Web does not have, each with its key.
import { Condition } from './Condition';
import { Histogram } from './Histogram';
import { Keys } from './keyboard';
import { Overview } from './Overview';
import { Pictures } from './Pictures';
import { Sql } from './Sql';

export const PANELS = {
  o: { title: 'Overview', Content: Overview },
  h: { title: 'Histogram', Content: Histogram },
  c: { title: 'Condition', Content: Condition },
  s: { title: 'SQL', Content: Sql },
  p: { title: 'Pictures', Content: Pictures },
  '?': { title: '?', Content: Keys },
} as const;
export type PanelKey = keyof typeof PANELS;

export function isPanel(key: string): key is PanelKey {
  return key in PANELS;
}
