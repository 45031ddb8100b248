// Names and coordinates of the dimensions of the selected dataset. Of an object that cannot be read, why.
import { useEffect, useState } from 'react';

import { ask } from './server';

interface Dimension {
  size: number;
  name: string | null;
  label: string | null;
  first: string | null;
  last: string | null;
}

export function Dimensions({ file, path }: { file: string; path: string }) {
  const [known, setKnown] = useState<{ path: string; dimensions: Dimension[]; problem?: string }>();
  useEffect(() => {
    const leaving = new AbortController();
    ask<Dimension[]>('dimensions', { file, path }, leaving.signal).then(
      (dimensions) => setKnown({ path, dimensions }),
      (error: unknown) => leaving.signal.aborted || setKnown({ path, dimensions: [], problem: error instanceof Error ? error.message : String(error) }),
    );
    return () => leaving.abort();
  }, [file, path]);

  if (known?.path === path && known.problem && path !== '/') {
    return (
      <p className="dimensions problem" role="alert">
        {known.problem}
      </p>
    );
  }
  if (!known || known.path !== path || known.dimensions.every(({ name }) => name === null)) {
    return null;
  }
  return (
    <ol className="dimensions" aria-label={`Dimensions of ${path}`}>
      {known.dimensions.map(({ size, label, first, last }, number) => (
        <li key={number}>
          <b>{label ?? `D${number}`}</b>: {size.toLocaleString('en')} {size === 1 ? 'value' : 'values'}
          {first !== null && (first === last ? `, ${first}` : `, ${first} to ${last}`)}
        </li>
      ))}
    </ol>
  );
}
