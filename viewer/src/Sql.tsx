// Read-only SQL over the tables of the files.
import { useEffect, useState } from 'react';

import { useWaiting } from './answers';
import { answerOf, SERVER } from './server';
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

export function Sql({ file, path }: { file: string; path: string }) {
  const [query, setQuery] = useState('');
  const [isTouched, setTouched] = useState(false);
  const waiting = useWaiting<Result>();
  const { answer } = waiting;

  useEffect(() => {
    if (!isTouched && path !== '/') {
      setQuery(`select * from "${path.slice(1).replaceAll('"', '""')}" limit 100`);
    }
  }, [path, isTouched]);

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
          onChange={(event) => {
            setTouched(true);
            setQuery(event.target.value);
          }}
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
