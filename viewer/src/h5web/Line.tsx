// H5Web's line with what the file says: coordinates and dates on the axis, the unit, names of values.
import { CurveType, DataCurve, DefaultInteractions, type Domain, extendDomain, LineVis as Plain, type LineVisProps, ResetZoomButton, ScaleType, TooltipMesh, VisCanvas } from '@h5web/lib';
import { type PropsWithChildren, useMemo } from 'react';

import { axisOf, indexAt } from './axis';
import { type Drawn, useDrawn, valueText } from './drawn';
import { formatIn } from './numbers';

const COLOR = 'darkblue';
// Empty parts of the axes, at each end.
const MARGIN = { x: 0.01, y: 0.05 };

export function LineVis(props: PropsWithChildren<LineVisProps>) {
  const drawn = useDrawn(props.title, props.dataArray.shape, ['x']);
  return drawn ? <Line {...props} drawn={drawn} /> : <Plain {...props} />;
}

function Line(props: PropsWithChildren<LineVisProps & { drawn: Drawn }>) {
  const { dataArray, domain, drawn, scaleType = ScaleType.Linear, curveType = CurveType.LineOnly, showGrid = true, interpolation, ignoreValue, interactions, children, className } = props;
  const { legend, label, mapping } = drawn;
  const xScale = props.abscissaParams?.scaleType ?? ScaleType.Linear;
  const x = useMemo(() => axisOf(legend.axes[mapping.indexOf('x')], dataArray.size, false), [legend, mapping, dataArray.size]);
  const ends = useMemo<Domain>(() => {
    const [least, greatest] = [Math.min, Math.max].map((end) => x.places.reduce((before, place) => end(before, place), x.places[0] ?? 0)) as Domain;
    return extendDomain(least < greatest ? [least, greatest] : x.domain, MARGIN.x, xScale);
  }, [x, xScale]);
  const isNamed = legend.categories.length > 0;
  const upright = domain ? extendDomain(domain, MARGIN.y, scaleType) : ([0, 1] as Domain);
  const named = (value: number) => legend.categories.find((one) => one.value === value)?.name ?? '';
  return (
    <figure className={`picture-of ${className ?? ''}`} aria-label={props.title} data-keep-canvas-colors data-testid={props.testid}>
      <VisCanvas
        abscissaConfig={{ visDomain: ends, showGrid, scaleType: xScale, isIndexAxis: x.isIndexAxis, label: x.label, formatTick: x.formatTick }}
        ordinateConfig={{
          visDomain: upright,
          showGrid,
          scaleType,
          // Of complex numbers, what is drawn of them.
          label: [label, props.ordinateLabel].filter(Boolean).join(', '),
          isIndexAxis: isNamed,
          formatTick: isNamed ? named : formatIn(upright),
        }}
      >
        <DefaultInteractions {...interactions} />
        <ResetZoomButton />
        <TooltipMesh
          guides="vertical"
          renderTooltip={(place) => {
            const index = indexAt(x, place);
            return (
              <>
                {x.label ?? 'x'} = {x.textAt(index)}
                <br />
                <strong>{valueText(legend, Number(dataArray.get(index)))}</strong>
              </>
            );
          }}
        />
        <DataCurve abscissas={x.places} ordinates={dataArray.data} color={COLOR} curveType={curveType} interpolation={interpolation} ignoreValue={ignoreValue} />
        {children}
      </VisCanvas>
    </figure>
  );
}
