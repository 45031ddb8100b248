// The fields of a compound dataset, one of which is drawn.
import { useEffect, useState } from 'react';

import { ask } from './server';

interface Meta {
  kind: string;
  type?: { members?: { name: string }[] | Record<string, number> };
}

// The names of the fields; undefined until they are known, empty if there are none.
export function useFields(file: string, path: string): string[] | undefined {
  const [known, setKnown] = useState<{ key: string; fields: string[] }>();
  const key = `${file}:${path}`;
  useEffect(() => {
    const leaving = new AbortController();
    ask<Meta>('meta', { file, path, page_members: 1 }, leaving.signal).then(
      ({ type }) => setKnown({ key, fields: Array.isArray(type?.members) ? type.members.map((one) => one.name) : [] }),
      () => leaving.signal.aborted || setKnown({ key, fields: [] }), // what cannot be described is refused when it is drawn
    );
    return () => leaving.abort();
  }, [file, path, key]);
  return known?.key === key ? known.fields : undefined;
}

export function FieldChoice({ fields, field, onChange }: { fields: string[]; field: string; onChange: (field: string) => void }) {
  return fields.length === 0 ? null : (
    <label>
      Field{' '}
      <select value={field} onChange={(event) => onChange(event.target.value)}>
        {fields.map((name) => (
          <option key={name}>{name}</option>
        ))}
      </select>
    </label>
  );
}
