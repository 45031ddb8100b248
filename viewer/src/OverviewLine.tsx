// A line through the minimum and maximum of each cell.
import { AxialSelectionTool, LineVis, SvgElement, SvgRect } from '@h5web/lib';
import ndarray from 'ndarray';
import { useMemo } from 'react';

import { domainOf, type DrawnAxis, type OverviewAnswer, rangeOfLine } from './axes';

interface Props {
  answer: OverviewAnswer;
  axis: DrawnAxis;
  onNarrow: (ranges: [number, number][]) => void;
}

export function OverviewLine({ answer, axis, onNarrow }: Props) {
  const { places, values, domain } = useMemo(() => {
    const found: { places: number[]; values: number[] } = { places: [], values: [] };
    answer.low.forEach((low, cell) => {
      const high = answer.high[cell] ?? null;
      const middle = axis.middles[cell] ?? cell;
      if (answer.is_exact || low === high) {
        found.places.push(middle);
        found.values.push(low ?? NaN);
        return;
      }
      // Both ends within the cell, which is narrower than its distance to the next one.
      const quarter = ((axis.middles[cell + 1] ?? middle) - middle || middle - (axis.middles[cell - 1] ?? middle)) / 4;
      found.places.push(middle - quarter, middle + quarter);
      found.values.push(low ?? NaN, high ?? NaN);
    });
    return { ...found, domain: domainOf([...answer.low, ...answer.high]) };
  }, [answer, axis.middles]);

  if (values.length < 2) {
    return <p className="said">One value: {String(answer.low[0])}</p>;
  }
  return (
    <div className="vis">
      <LineVis
        dataArray={ndarray(values, [values.length])}
        domain={domain}
        showGrid
        abscissaParams={{ value: places, label: axis.label }}
        ordinateLabel={answer.label}
        interactions={{ pan: false, selectToZoom: false, xSelectToZoom: false, ySelectToZoom: false }}
      >
        <AxialSelectionTool axis="x" onValidSelection={({ data: [from, to] }) => onNarrow([rangeOfLine(axis, from.x, to.x)])}>
          {({ html }) => (
            <SvgElement>
              <SvgRect coords={html} fill="#808080" fillOpacity={0.3} />
            </SvgElement>
          )}
        </AxialSelectionTool>
      </LineVis>
    </div>
  );
}
