// A heat map of the minimum, the maximum, or the one of both that stands out, of each cell.
import { HeatmapVis, SelectionTool, SvgElement, SvgRect } from '@h5web/lib';
import ndarray from 'ndarray';
import { useMemo } from 'react';

import { domainOf, type DrawnAxis, type OverviewAnswer } from './axes';

export type Shown = 'extreme' | 'high' | 'low';

interface Props {
  answer: OverviewAnswer;
  rows: DrawnAxis;
  columns: DrawnAxis;
  shown: Shown;
  onNarrow: (ranges: [number, number][]) => void;
}

export function OverviewImage({ answer, rows, columns, shown, onNarrow }: Props) {
  const { values, domain } = useMemo(() => {
    const mean = answer.mean ?? 0;
    const found = answer.low.map((low, cell) => {
      const high = answer.high[cell] ?? null;
      if (low === null || high === null) {
        return NaN;
      }
      const extreme = high - mean >= mean - low ? high : low;
      return { extreme, high, low }[shown];
    });
    return { values: Float32Array.from(found), domain: domainOf(found) };
  }, [answer, shown]);

  const [height = 1, width = 1] = answer.shape;
  return (
    <div className="vis image">
      <HeatmapVis
        dataArray={ndarray(values, [height, width])}
        domain={domain}
        colorMap="Viridis"
        aspect="auto"
        abscissaParams={{ value: columns.borders, label: columns.label }}
        ordinateParams={{ value: rows.borders, label: rows.label }}
        title={answer.label}
        interactions={{ pan: false, selectToZoom: false, xSelectToZoom: false, ySelectToZoom: false }}
      >
        <SelectionTool onValidSelection={({ data: [from, to] }) => onNarrow([rows.range(from.y, to.y), columns.range(from.x, to.x)])}>
          {({ html }) => (
            <SvgElement>
              <SvgRect coords={html} fill="#808080" fillOpacity={0.3} stroke="#fff" />
            </SvgElement>
          )}
        </SelectionTool>
      </HeatmapVis>
    </div>
  );
}
