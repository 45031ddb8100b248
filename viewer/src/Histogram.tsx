// How often the values of a dataset occur, from its index if it has one.
import { useEffect, useState } from 'react';

import { useWaiting } from './answers';
import { FieldChoice, useFields } from './Field';
import { ask } from './server';
import { State } from './State';

interface HistogramAnswer {
  edges: number[];
  lower: number[];
  upper: number[];
  is_exact: boolean;
  source: string;
  label: string;
  seconds: number;
}

const WIDTH = 600;
const HEIGHT = 260;

export function Histogram({ file, path }: { file: string; path: string }) {
  const [bins, setBins] = useState(100);
  const [range, setRange] = useState('');
  const [isLog, setLog] = useState(false);
  const waiting = useWaiting<HistogramAnswer>();
  const { answer, run } = waiting;
  const fields = useFields(file, path);
  const [chosen, setChosen] = useState('');
  const field = fields?.includes(chosen) ? chosen : fields?.[0];
  const count = (exact: boolean) => run((signal) => ask('histogram', { file, path, field, bins, range, exact }, signal));

  useEffect(() => {
    if (fields) {
      run((signal) => ask('histogram', { file, path, field, bins: 100 }, signal));
    }
  }, [file, path, fields, field, run]);

  return (
    <div className="panel-content">
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
          count(false);
        }}
      >
        <label>
          Bins <input type="number" min={1} max={1000} value={bins} onChange={(event) => setBins(event.target.valueAsNumber || 1)} />
        </label>
        <label>
          Range <input value={range} onChange={(event) => setRange(event.target.value)} placeholder="low, high" size={12} />
        </label>
        <FieldChoice fields={fields ?? []} field={field ?? ''} onChange={setChosen} />
        <button type="submit">Count</button>
        <label>
          <input type="checkbox" checked={isLog} onChange={(event) => setLog(event.target.checked)} /> logarithmic counts
        </label>
      </form>
      <State waiting={waiting} seconds={answer?.seconds} />
      {answer && (
        <>
          <p className="said">
            {answer.source === 'values' ? 'All values were read.' : `From ${answer.source}; no values were read.`}{' '}
            {!answer.is_exact && (
              <>
                The index bounds the counts: the light part is uncertain.{' '}
                <button type="button" onClick={() => count(true)}>
                  Read the values
                </button>
              </>
            )}
          </p>
          <Bars answer={answer} isLog={isLog} />
        </>
      )}
    </div>
  );
}

function Bars({ answer, isLog }: { answer: HistogramAnswer; isLog: boolean }) {
  const { edges, lower, upper, label } = answer;
  const scale = (count: number) => (isLog ? Math.log10(count + 1) : count);
  const most = Math.max(...upper);
  const highest = scale(most) || 1;
  const width = WIDTH / upper.length;
  const middle = edges[Math.floor(edges.length / 2)];
  return (
    <svg className="bars" viewBox={`-90 -10 ${WIDTH + 110} ${HEIGHT + 60}`} role="img" aria-label={`Histogram of ${label}`}>
      {upper.map((count, bin) => {
        const least = lower[bin] ?? count;
        const words = `${edges[bin]?.toPrecision(6)} to ${edges[bin + 1]?.toPrecision(6)}: ${least === count ? count.toLocaleString('en') : `${least.toLocaleString('en')} to ${count.toLocaleString('en')}`}`;
        const bar = (value: number, opacity: number) => (
          <rect x={bin * width} width={Math.max(width - 0.3, 0.3)} y={HEIGHT * (1 - scale(value) / highest)} height={(HEIGHT * scale(value)) / highest} fillOpacity={opacity} />
        );
        return (
          <g key={bin}>
            <title>{words}</title>
            <rect x={bin * width} width={width} y={0} height={HEIGHT} fillOpacity={0} />
            {least !== count && bar(count, 0.35)}
            {bar(least, 0.9)}
          </g>
        );
      })}
      <line x1={0} x2={WIDTH} y1={HEIGHT} y2={HEIGHT} />
      <text x={0} y={HEIGHT + 18}>
        {edges[0]?.toPrecision(5)}
      </text>
      <text x={WIDTH / 2} y={HEIGHT + 18} textAnchor="middle">
        {middle?.toPrecision(5)}
      </text>
      <text x={WIDTH} y={HEIGHT + 18} textAnchor="end">
        {edges.at(-1)?.toPrecision(5)}
      </text>
      <text x={WIDTH / 2} y={HEIGHT + 40} textAnchor="middle">
        {label}
      </text>
      <text x={-6} y={8} textAnchor="end">
        {most.toLocaleString('en')}
      </text>
      <text x={-6} y={HEIGHT} textAnchor="end">
        0
      </text>
    </svg>
  );
}
