// H5Web's heat map with what the file says: coordinates and dates on the axes, north above south, names of values.
import { DefaultInteractions, HeatmapMesh, HeatmapVis as Plain, type HeatmapVisProps, ResetZoomButton, ScaleType, TooltipMesh, VisCanvas } from '@h5web/lib';
import ndarray from 'ndarray';
import { type PropsWithChildren, useMemo } from 'react';

import type { LegendAxis } from '../legends';
import { useNarrow } from '../narrow';
import { axisOf, indexAt, type PictureAxis } from './axis';
import { type Drawn, useDrawn, valueText } from './drawn';
import { Scale } from './Scale';

export function HeatmapVis(props: PropsWithChildren<HeatmapVisProps>) {
  const drawn = useDrawn(props.title, props.dataArray.shape, ['x', 'y']);
  return drawn ? <Heatmap {...props} drawn={drawn} /> : <Plain {...props} />;
}

function Heatmap(props: PropsWithChildren<HeatmapVisProps & { drawn: Drawn }>) {
  const { dataArray, domain = [0, 1], drawn, colorMap = 'Viridis', invertColorMap = false, ignoreValue, showGrid, aspect, interactions, children, className } = props;
  const { legend, label, mapping } = drawn;
  const [rows = 1, columns = 1] = dataArray.shape;
  const { x, y } = useMemo(
    () => ({ x: axisOf(legend.axes[mapping.indexOf('x')], columns, true), y: axisOf(legend.axes[mapping.indexOf('y')], rows, true, true) }),
    [legend, mapping, rows, columns],
  );
  const values = useMemo(() => {
    const found = Float32Array.from(dataArray.data as ArrayLike<number>);
    return ndarray(ignoreValue ? found.map((value) => (ignoreValue(value) ? NaN : value)) : found, [rows, columns]);
  }, [dataArray, ignoreValue, rows, columns]);
  const scaleType = legend.categories.length > 0 ? ScaleType.Linear : (props.scaleType ?? ScaleType.Linear);
  const [flipX, flipY] = [x.isFlipped !== Boolean(props.flipXAxis), y.isFlipped !== Boolean(props.flipYAxis)];
  const isNarrow = useNarrow();
  // The same scale in both directions is for the same kind of coordinate, not for depths over days, and not for stripes.
  const isScaled = isAlike(legend.axes[mapping.indexOf('x')], legend.axes[mapping.indexOf('y')]) && Math.abs(Math.log(ratioOf(x, y))) < Math.log(MAX_RATIO);
  const scaled = isScaled ? aspect : 'auto';
  return (
    <figure className={`picture-of ${className ?? ''}`} aria-label={props.title} data-keep-canvas-colors>
      <div className="canvas" style={isNarrow && scaled === 'equal' ? { flex: `0 1 ${heightOf(x, y)}px` } : undefined}>
      <VisCanvas
        title={label}
        aspect={scaled}
        abscissaConfig={{ visDomain: x.domain, showGrid, isIndexAxis: x.isIndexAxis, label: x.label, flip: flipX, formatTick: x.formatTick }}
        ordinateConfig={{ visDomain: y.domain, showGrid, isIndexAxis: y.isIndexAxis, label: y.label, flip: flipY, formatTick: y.formatTick }}
      >
        <DefaultInteractions {...interactions} />
        <ResetZoomButton />
        <TooltipMesh
          guides="both"
          renderTooltip={(across, upward) => {
            const [column, row] = [indexAt(x, across), indexAt(y, upward)];
            return (
              <>
                {x.label ?? 'x'} = {x.textAt(column)}, {y.label ?? 'y'} = {y.textAt(row)}
                <br />
                <strong>{valueText(legend, Number(dataArray.get(row, column)))}</strong>
              </>
            );
          }}
        />
        <HeatmapMesh values={values} domain={domain} colorMap={colorMap} invertColorMap={invertColorMap} scaleType={scaleType} scale={[flipX ? -1 : 1, flipY ? -1 : 1, 1]} />
        {children}
      </VisCanvas>
      </div>
      <Scale categories={legend.categories} domain={domain} colorMap={colorMap} isInverted={invertColorMap} scaleType={scaleType} />
    </figure>
  );
}

const DEGREES = ['latitude', 'longitude'];

function isAlike(x: LegendAxis | undefined, y: LegendAxis | undefined): boolean {
  const kindOf = (axis: LegendAxis | undefined) => (axis && DEGREES.includes(axis.role) ? 'degrees' : (axis?.kind ?? 'none'));
  return kindOf(x) === kindOf(y) && ['degrees', 'none'].includes(kindOf(x));
}

// Pixels that axes and words need around an image.
const AROUND = { width: 128, height: 102 };

const MAX_RATIO = 4;

function ratioOf(x: PictureAxis, y: PictureAxis): number {
  return Math.abs((y.domain[1] - y.domain[0]) / (x.domain[1] - x.domain[0]));
}

// The height of an image that is as wide as the window, with the same scale in both directions.
function heightOf(x: PictureAxis, y: PictureAxis): number {
  return Math.max(window.innerWidth - AROUND.width, 0) * ratioOf(x, y) + AROUND.height;
}
