// Names of the dimensions of the selected dataset, which H5Web calls D0, D1 …: it knows those of NeXus only.
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
  const [known, setKnown] = useState<{ path: string; dimensions: Dimension[] }>();
  useEffect(() => {
    const leaving = new AbortController();
    ask<Dimension[]>('dimensions', { file, path }, leaving.signal).then(
      (dimensions) => setKnown({ path, dimensions }),
      () => undefined, // H5Web says what is wrong with the object
    );
    return () => leaving.abort();
  }, [file, path]);

  if (!known || known.path !== path || known.dimensions.every(({ name }) => name === null)) {
    return null;
  }
  return (
    <ol className="dimensions" aria-label={`Dimensions of ${path}`}>
      {known.dimensions.map(({ size, label, first, last }, number) => (
        <li key={number}>
          <b>D{number}</b> {label ?? 'without a name'}: {size.toLocaleString('en')} {size === 1 ? 'value' : 'values'}
          {first !== null && (first === last ? `, ${first}` : `, ${first} to ${last}`)}
        </li>
      ))}
    </ol>
  );
}
