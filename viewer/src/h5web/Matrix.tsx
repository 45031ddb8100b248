// H5Web's table with columns that are wide enough: a number that is cut would be another one.
import { MatrixVis as Plain, type MatrixVisProps } from '@h5web/lib';
import { useMemo } from 'react';

// Pixels of a character and around the text of a cell, and rows and columns at each end that are measured.
const CHARACTER = 10;
const AROUND = 20;
const MEASURED = 50;
const MAX_WIDTH = 400;

function ends(count: number): number[] {
  const all = Array.from({ length: Math.min(count, 2 * MEASURED) }, (_, at) => at);
  return count > 2 * MEASURED ? all.map((at) => (at < MEASURED ? at : count - 2 * MEASURED + at)) : all;
}

export function MatrixVis(props: MatrixVisProps) {
  const { dims, cellFormatter, cellWidth, columnHeaders = [] } = props;
  const needed = useMemo(() => {
    const [rows = 0, columns = 1] = dims;
    const texts = ends(rows).flatMap((row) => ends(columns).map((column) => String(cellFormatter(row, column))));
    const longest = [...columnHeaders, ...texts].reduce((most, text) => Math.max(most, text.length), 0);
    return Math.min(longest * CHARACTER + AROUND, MAX_WIDTH);
  }, [dims, cellFormatter, columnHeaders]);
  return <Plain {...props} cellWidth={Math.max(cellWidth, needed)} />;
}
