// The choice of the dimensions that are drawn, and of the place along the others: by the names and coordinates of the file, in a row above the picture.
import type { DimensionMapping } from '@h5web/lib';
import { useEffect, useState } from 'react';

import { type LegendAxis, useShown } from '../legends';
import { axisOf } from './axis';
import { drawDimensions } from './drawn';

// Milliseconds after which a place that is moved is read.
const DELAY = 150;

interface Props {
  className?: string;
  dims: number[];
  dimMapping: DimensionMapping;
  onChange: (mapping: DimensionMapping) => void;
}

export function DimensionMapper({ className, dims, dimMapping, onChange }: Props) {
  drawDimensions(dimMapping);
  const legend = useShown()?.legend;
  const axes = legend?.axes.length === dims.length ? legend.axes : [];
  const nameOf = (dimension: number) => axes[dimension]?.label ?? `D${dimension}`;
  // The dimension that was drawn there takes the place of the one that is chosen.
  const draw = (axis: 'x' | 'y', dimension: number) => {
    const next = [...dimMapping];
    const before = next[dimension];
    next[dimMapping.indexOf(axis)] = typeof before === 'number' ? 0 : (before ?? null);
    next[dimension] = axis;
    onChange(next);
  };
  if (dims.length < 2) {
    return null;
  }
  return (
    <div className={`slices ${className ?? ''}`} role="group" aria-label="Dimensions">
      {(['y', 'x'] as const)
        .filter((axis) => dimMapping.includes(axis))
        .map((axis) => (
          <label key={axis}>
            {axis}{' '}
            <select aria-label={`Dimension as ${axis} axis`} value={dimMapping.indexOf(axis)} onChange={(event) => draw(axis, Number(event.target.value))}>
              {dims.map((size, dimension) => (
                <option key={dimension} value={dimension} disabled={dimMapping[dimension] === null}>
                  {nameOf(dimension)} ({size})
                </option>
              ))}
            </select>
          </label>
        ))}
      {dimMapping.map((place, dimension) =>
        typeof place === 'number' ? (
          <Place
            key={dimension}
            name={nameOf(dimension)}
            axis={axes[dimension]}
            size={dims[dimension] ?? 1}
            place={place}
            onChange={(next) => onChange(dimMapping.map((one, at) => (at === dimension ? next : one)))}
          />
        ) : null,
      )}
    </div>
  );
}

function Place({ name, axis, size, place, onChange }: { name: string; axis: LegendAxis | undefined; size: number; place: number; onChange: (place: number) => void }) {
  const [moved, setMoved] = useState(place);
  useEffect(() => setMoved(place), [place]);
  useEffect(() => {
    const timer = window.setTimeout(() => moved !== place && onChange(moved), DELAY);
    return () => window.clearTimeout(timer);
  }, [moved]); // eslint-disable-line react-hooks/exhaustive-deps
  const { textAt, isIndexAxis } = axisOf(axis, size, false);
  return (
    <label className="place">
      {name}{' '}
      <input type="range" aria-label={`Index of ${name}`} min={0} max={size - 1} value={moved} onChange={(event) => setMoved(event.target.valueAsNumber)} />{' '}
      <output>
        {textAt(moved)}
        {isIndexAxis && axis?.kind !== 'texts' ? ` of ${size}` : ''}
      </output>
    </label>
  );
}
