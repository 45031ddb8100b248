// Read-only SQL over the tables of the files.
import { useEffect, useState } from 'react';

import { useWaiting } from './answers';
import { answerOf, ask, SERVER } from './server';
import { State } from './State';
import { type Rows, Table } from './Table';

interface Result extends Rows {
  has_more: boolean;
  seconds: number;
}

const MAX_ROWS = 1000;

// A Jupyter server wants to see its cookie in a header, too: other sites cannot read it.
function fromJupyter(): Record<string, string> {
  const cookie = /(?:^|; )_xsrf=([^;]*)/u.exec(document.cookie);
  return cookie?.[1] ? { 'X-XSRFToken': cookie[1] } : {};
}

function quoted(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function Sql({ file, path }: { file: string; path: string }) {
  const [query, setQuery] = useState('');
  const [isTouched, setTouched] = useState(false);
  const [tables, setTables] = useState<string[]>([]);
  const waiting = useWaiting<Result>();
  const { answer } = waiting;

  useEffect(() => {
    if (!isTouched && path !== '/') {
      setQuery(`select * from ${quoted(path.slice(1))} limit 100`);
    }
  }, [path, isTouched]);

  useEffect(() => {
    const leaving = new AbortController();
    ask<string[]>('tables', { file }, leaving.signal).then(setTables, () => leaving.signal.aborted || setTables([])); // a query says what is wrong with the file
    return () => leaving.abort();
  }, [file]);

  const choose = (text: string) => {
    setTouched(true);
    setQuery(text);
  };
  const run = () => {
    waiting.run(async (signal) => {
      const body = JSON.stringify({ file, query, rows: MAX_ROWS });
      const found = await answerOf(`${SERVER}/sql`, { method: 'POST', body, signal, headers: { 'Content-Type': 'application/json', ...fromJupyter() } });
      return found.json() as Promise<Result>;
    });
  };
  return (
    <div className="panel-content">
      <form
        onSubmit={(event) => {
          event.preventDefault();
          run();
        }}
      >
        <textarea
          aria-label="SQL"
          rows={5}
          spellCheck={false}
          value={query}
          placeholder={'select avg(theta) from theta where depth < 100'}
          onChange={(event) => choose(event.target.value)}
          onKeyDown={(event) => {
            if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
              event.preventDefault();
              run();
            }
          }}
        />
        <div className="row">
          <button type="submit">Run (Ctrl+Enter)</button>
          <span className="said">
            Tables are datasets and groups of {file}, and <code>"FILE"."TABLE"</code> of the others. DuckDB reads; nothing is written.
          </span>
        </div>
      </form>
      {tables.length > 0 && (
        <p className="row said" role="group" aria-label="Tables of data models">
          Tables of data models:{' '}
          {tables.map((table) => (
            <button key={table} type="button" onClick={() => choose(`select * from ${quoted(table)} limit 100`)}>
              {table}
            </button>
          ))}
        </p>
      )}
      <State waiting={waiting} seconds={answer?.seconds} />
      {answer && (
        <>
          <p className="said" role="status">
            {answer.rows.length.toLocaleString('en')} {answer.rows.length === 1 ? 'row' : 'rows'}
            {answer.has_more && ', and there are more: use LIMIT, OFFSET or a condition'}
          </p>
          <Table columns={answer.columns} rows={answer.rows} />
        </>
      )}
    </div>
  );
}
