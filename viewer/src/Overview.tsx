// All values of a line or an image, thinned out by the server to the minimum and maximum of each pixel.
import { useEffect, useRef, useState } from 'react';

import { useWaiting } from './answers';
import { axisOf, type DrawnAxis, type OverviewAnswer } from './axes';
import { OverviewImage, type Shown } from './OverviewImage';
import { OverviewLine } from './OverviewLine';
import { FieldChoice, useFields } from './Field';
import { addressOf, ask, MAX_VALUES } from './server';
import { State } from './State';

// Room in the panel that axes, words and fields need, in pixels, and the smallest image.
const MARGIN = { width: 240, height: 330 };
const SMALLEST = 100;

// Cells of an image: no more than there are pixels, of which the browser would skip some.
function cellsIn(area: HTMLElement | null): { width: number; height: number } {
  const cells = (pixels: number, margin: number) => Math.min(Math.floor(Math.max(pixels - margin, SMALLEST) * window.devicePixelRatio), 2000);
  const panel = area?.closest('aside');
  return { width: cells(panel?.clientWidth ?? 0, MARGIN.width), height: cells(panel?.clientHeight ?? 0, MARGIN.height) };
}

export function Overview({ file, path }: { file: string; path: string }) {
  const [selection, setSelection] = useState('');
  const [written, setWritten] = useState('');
  const [shown, setShown] = useState<Shown>('extreme');
  const area = useRef<HTMLDivElement>(null);
  const waiting = useWaiting<OverviewAnswer>();
  const { answer, run } = waiting;
  const fields = useFields(file, path);
  const [chosen, setChosen] = useState('');
  const field = fields?.includes(chosen) ? chosen : fields?.[0];

  useEffect(() => {
    setSelection('');
    setWritten('');
  }, [file, path]);
  useEffect(() => {
    if (fields) {
      run((signal) => ask('overview', { file, path, field, selection, ...cellsIn(area.current) }, signal));
    }
  }, [file, path, fields, field, selection, run]);
  useEffect(() => setWritten(answer?.selection ?? ''), [answer]);

  const axes = answer?.axes.map((axis, at) => axisOf(axis, answer.steps[at] ?? 1)) ?? [];
  // The ranges of the drawn dimensions, others as they are.
  const narrow = (ranges: [number, number][]) => {
    if (!answer) {
      return;
    }
    const members = answer.selection.split(',');
    answer.axes.forEach((axis, at) => {
      const range = ranges[at];
      members[axis.dimension] = range ? `${range[0]}:${range[1]}` : (members[axis.dimension] ?? ':');
    });
    setSelection(members.join(','));
  };
  const widen = () => narrow(answer?.axes.map((axis) => widened(axis.start, axis.stop)) ?? []);

  return (
    <div className="panel-content" ref={area}>
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
          setSelection(written);
        }}
      >
        <label>
          Selection <input value={written} onChange={(event) => setWritten(event.target.value)} placeholder="0, 100:2000, :" size={24} />
        </label>
        <button type="submit">Show</button>
        <button type="button" onClick={widen} disabled={!answer}>
          Zoom out
        </button>
        <button type="button" onClick={() => setSelection('')} disabled={!answer}>
          Everything
        </button>
        <FieldChoice fields={fields ?? []} field={field ?? ''} onChange={setChosen} />
        {axes.length === 2 && (
          <label>
            Pixel{' '}
            <select value={shown} onChange={(event) => setShown(event.target.value as Shown)}>
              <option value="extreme">farthest from the mean</option>
              <option value="high">maximum</option>
              <option value="low">minimum</option>
            </select>
          </label>
        )}
      </form>
      <State waiting={waiting} seconds={answer?.seconds} />
      {answer && <Thinned answer={answer} file={file} path={path} isField={field !== undefined} />}
      {answer && <Drawn answer={answer} axes={axes} shown={shown} onNarrow={narrow} />}
    </div>
  );
}

// Three times as much, around the same middle; the server cuts what is beyond the end.
function widened(start: number, stop: number): [number, number] {
  const length = stop - start;
  return [Math.max(0, start - length), stop + length];
}

function Drawn(props: { answer: OverviewAnswer; axes: DrawnAxis[]; shown: Shown; onNarrow: (ranges: [number, number][]) => void }) {
  const { answer, axes, shown, onNarrow } = props;
  const [first, second] = axes;
  if (first && second) {
    return <OverviewImage answer={answer} rows={first} columns={second} shown={shown} onNarrow={onNarrow} />;
  }
  return first ? <OverviewLine answer={answer} axis={first} onNarrow={onNarrow} /> : null;
}

// What was done to the values, and how to get them as they are.
function Thinned({ answer, file, path, isField }: { answer: OverviewAnswer; file: string; path: string; isField: boolean }) {
  const values = answer.values.toLocaleString('en');
  const exact = (format: string) => addressOf('data', { file, path, selection: answer.selection, format });
  return (
    <>
      <p className="said">
        {answer.is_exact
          ? `All ${values} values are drawn one by one.`
          : `${values} values, thinned out: each pixel has the minimum and maximum of ${answer.steps.join(' × ')} values. Drag over a part to see it in more detail.`}{' '}
        {answer.values <= MAX_VALUES && (
          <>
            The exact values: {!isField && <a href={exact('csv')}>CSV</a>} {!isField && <a href={exact('npy')}>NPY</a>} <a href={exact('json')}>JSON</a>
          </>
        )}
        {answer.values > MAX_VALUES && 'For the exact values, select less.'}
      </p>
      {!answer.is_complete && <p className="problem">Reading took too long, and the picture has gaps: select less to see all values.</p>}
      {answer.damaged.map((message) => (
        <p className="problem" key={message}>
          A part is missing: {message}
        </p>
      ))}
    </>
  );
}
