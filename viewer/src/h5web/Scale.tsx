// What the colors of a picture mean: a bar with numbers, or the names of values.
import { ColorBar, type ColorMap, type Domain, getLinearGradient, INTERPOLATORS, ScaleType, type VisScaleType } from '@h5web/lib';

import type { Category } from '../legends';
import { useNarrow } from '../narrow';
import { formatIn, roundNumbers } from './numbers';

interface Props {
  categories: Category[];
  domain: Domain;
  colorMap: ColorMap;
  isInverted: boolean;
  scaleType: VisScaleType;
}

const TICKS = { upright: 8, across: 4 };

export function Scale(props: Props) {
  const isNarrow = useNarrow();
  if (props.categories.length > 0) {
    return <Names {...props} />;
  }
  const { domain, colorMap, isInverted, scaleType } = props;
  if (scaleType !== ScaleType.Linear) {
    return <ColorBar domain={domain} scaleType={scaleType} colorMap={colorMap} invertColorMap={isInverted} horizontal={isNarrow} withBounds />;
  }
  const [low, high] = domain;
  const format = formatIn(domain);
  return (
    <div className={isNarrow ? 'bar across' : 'bar'} role="img" aria-label={`Colors from ${format(low)} to ${format(high)}`}>
      <div className="colors" data-keep-colors style={{ background: getLinearGradient(colorOf(colorMap, isInverted), isNarrow ? 'right' : 'top') }} />
      {roundNumbers(domain, isNarrow ? TICKS.across : TICKS.upright).map((value) => (
        <span key={value} style={{ [isNarrow ? 'left' : 'bottom']: `${high > low ? ((value - low) / (high - low)) * 100 : 50}%` }}>
          {format(value)}
        </span>
      ))}
    </div>
  );
}

function colorOf(colorMap: ColorMap, isInverted: boolean): (place: number) => string {
  return (place) => INTERPOLATORS[colorMap](isInverted ? 1 - place : place);
}

function Names({ categories, domain: [low, high], colorMap, isInverted }: Props) {
  const color = colorOf(colorMap, isInverted);
  return (
    <ul className="categories" aria-label="Names of values">
      {categories
        .filter(({ value }) => value >= low && value <= high)
        .map(({ value, name }) => (
          <li key={name}>
            <span data-keep-colors style={{ background: color(high > low ? (value - low) / (high - low) : 0) }} /> {name}
          </li>
        ))}
    </ul>
  );
}
