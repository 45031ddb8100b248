// Which rows match a condition: how many, and the first of them.
import { useState } from 'react';

import { useWaiting } from './answers';
import { ask } from './server';
import { State } from './State';
import { type Rows, Table } from './Table';

interface Matching extends Rows {
  count: number;
  is_exact: boolean;
  explain: string;
  seconds: number;
}

export function Condition({ file, path }: { file: string; path: string }) {
  const name = path.split('/').at(-1) || 'x';
  const [where, setWhere] = useState('');
  const waiting = useWaiting<Matching>();
  const { answer } = waiting;
  return (
    <div className="panel-content">
      <form
        className="row"
        onSubmit={(event) => {
          event.preventDefault();
          waiting.run((signal) => ask('query', { file, path, where, rows: 200 }, signal));
        }}
      >
        <label className="wide">
          Where <input value={where} onChange={(event) => setWhere(event.target.value)} placeholder={`${name} > 1.3 && ${name} < 5`} />
        </label>
        <button type="submit">Find rows</button>
      </form>
      <p className="said">A condition on the arrays of the group of {path}; without one, every row matches.</p>
      <State waiting={waiting} seconds={answer?.seconds} />
      {answer && (
        <>
          <p className="said" role="status">
            <b>
              {answer.is_exact ? '' : 'At least '}
              {answer.count.toLocaleString('en')} rows match
            </b>
            {answer.count > answer.rows.length && `; the first ${answer.rows.length.toLocaleString('en')}:`}
          </p>
          <Table columns={answer.columns} rows={answer.rows} />
          <details>
            <summary>How they were found</summary>
            <pre>{answer.explain}</pre>
          </details>
        </>
      )}
    </div>
  );
}
