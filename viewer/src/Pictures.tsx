// The default plots of data models: particles, maps, unstructured grids. The server draws them.
import { useEffect, useState } from 'react';

import { useWaiting } from './answers';
import { addressOf, answerOf, ask } from './server';
import { State } from './State';

interface Choice {
  name: string;
  title: string;
  steps: number[];
  first: number[];
}

// What is shown of the dimensions that are not drawn: what the user chose, or what the server shows first.
function indexOf({ steps, first }: Choice, index: number[]): number[] {
  return steps.map((_, dimension) => index[dimension] ?? first[dimension] ?? 0);
}

export function Pictures({ file, picture }: { file: string; picture: string | null | undefined }) {
  const listing = useWaiting<Choice[]>();
  const drawing = useWaiting<string>();
  const [name, setName] = useState('');
  const [index, setIndex] = useState<number[]>([]);
  const choices = listing.answer;
  const chosen = choices?.find((one) => one.name === name) ?? choices?.[0];
  const { run: list } = listing;
  const { run: draw } = drawing;

  useEffect(() => {
    list((signal) => ask('pictures', { file }, signal));
  }, [file, list]);
  // What is selected in the tree, if it has a picture.
  useEffect(() => {
    setName(picture ?? '');
    setIndex([]);
  }, [file, picture]);
  const at = chosen && indexOf(chosen, index).join(',');
  useEffect(() => {
    if (chosen) {
      draw(async (signal) => {
        const picture = await answerOf(addressOf('picture', { file, name: chosen.name, index: at, dark: window.matchMedia('(prefers-color-scheme: dark)').matches }), { signal });
        return URL.createObjectURL(await picture.blob());
      });
    }
  }, [file, chosen?.name, at, draw]);
  useEffect(() => () => void (drawing.answer && URL.revokeObjectURL(drawing.answer)), [drawing.answer]);

  if (!choices) {
    return <State waiting={listing} />;
  }
  if (!chosen) {
    return <p className="said">No data model that has pictures was recognized in {file}: particles and fields, maps of CF, unstructured grids, NeXus.</p>;
  }
  return (
    <div className="panel-content">
      <div className="row">
        <label>
          Picture{' '}
          <select
            value={chosen.name}
            onChange={(event) => {
              setName(event.target.value);
              setIndex([]);
            }}
          >
            {choices.map((one) => (
              <option key={one.name} value={one.name}>
                {one.title}
              </option>
            ))}
          </select>
        </label>
        {chosen.steps.map((extent, dimension) => (
          <label key={dimension}>
            Index (0 to {extent - 1}){' '}
            <input
              type="number"
              min={0}
              max={extent - 1}
              value={indexOf(chosen, index)[dimension]}
              onChange={(event) => {
                const next = indexOf(chosen, index);
                next[dimension] = Math.min(Math.max(event.target.valueAsNumber || 0, 0), extent - 1);
                setIndex(next);
              }}
            />
          </label>
        ))}
      </div>
      <State waiting={drawing} />
      {drawing.answer && <img className="picture" src={drawing.answer} alt={chosen.title} />}
    </div>
  );
}
