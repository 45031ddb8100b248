// The page: a choice of files, H5Web over the server that gave the page, and a panel for what H5Web does not have.
import '@h5web/app/styles.css';
import './page.css';

import { App, H5GroveProvider } from '@h5web/app';
import { StrictMode, useCallback, useEffect, useRef, useState } from 'react';
import { createRoot } from 'react-dom/client';

import { Condition } from './Condition';
import { Dimensions } from './Dimensions';
import { Histogram } from './Histogram';
import { Keys, useKeys } from './keyboard';
import { Overview } from './Overview';
import { Pictures } from './Pictures';
import { useSelected } from './selected';
import { ask, fetcher, SERVER, TOO_LARGE } from './server';
import { Sql } from './Sql';

const PANELS = {
  o: { title: 'Overview', Content: Overview },
  h: { title: 'Histogram', Content: Histogram },
  c: { title: 'Condition', Content: Condition },
  s: { title: 'SQL', Content: Sql },
  p: { title: 'Pictures', Content: Pictures },
  '?': { title: '?', Content: Keys },
} as const;
type PanelKey = keyof typeof PANELS;

function isPanel(key: string): key is PanelKey {
  return key in PANELS;
}

function named(): string {
  return decodeURIComponent(window.location.hash.slice(1));
}

function Page() {
  const [files, setFiles] = useState<string[]>();
  const [file, setFile] = useState(named());
  const [problem, setProblem] = useState<string>();
  const [opened, setOpened] = useState(0);
  const [panel, setPanel] = useState<PanelKey>();
  const area = useRef<HTMLElement>(null);
  const choice = useRef<HTMLSelectElement>(null);

  useEffect(() => {
    ask<string[]>('files/', {}).then(setFiles, (error: unknown) => setProblem(String(error)));
    const follow = () => setFile(named());
    window.addEventListener('hashchange', follow);
    return () => window.removeEventListener('hashchange', follow);
  }, [opened]);
  useEffect(() => {
    const open = () => setPanel((before) => before ?? 'o');
    window.addEventListener(TOO_LARGE, open);
    return () => window.removeEventListener(TOO_LARGE, open);
  }, []);

  const shown = file || files?.[0];
  useEffect(() => {
    document.title = shown ? `${shown} – Hyperslab` : 'Hyperslab';
  }, [shown]);

  useKeys(
    useCallback((key) => {
      if (key === 'f') {
        choice.current?.focus();
      } else if (key === 't') {
        area.current?.querySelector<HTMLElement>('[role="treeitem"][aria-selected="true"]')?.focus();
      } else if (key === 'r') {
        setOpened((before) => before + 1);
      } else if (key === 'Escape') {
        setPanel(undefined);
      } else if (isPanel(key)) {
        setPanel((before) => (before === key ? undefined : key));
      }
    }, []),
  );

  if (problem) {
    return <p className="whole">{problem}</p>;
  }
  if (!files) {
    return <p className="whole">Listing files …</p>;
  }
  if (!shown) {
    return <p className="whole">There is no file of HDF5 or netCDF here.</p>;
  }
  return (
    <>
      <header>
        {files.length > 1 && (
          <label>
            File{' '}
            <select
              ref={choice}
              value={shown}
              onChange={(event) => {
                window.location.hash = encodeURIComponent(event.target.value);
              }}
            >
              {files.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </label>
        )}
        <nav aria-label="Panels">
          {Object.entries(PANELS).map(([key, { title }]) => (
            <button
              key={key}
              type="button"
              aria-pressed={panel === key}
              title={`Key: ${key}`}
              onClick={() => setPanel(panel === key ? undefined : (key as PanelKey))}
            >
              {title}
            </button>
          ))}
        </nav>
        <button type="button" title="Key: r" onClick={() => setOpened(opened + 1)}>
          Read again
        </button>
      </header>
      <Dimensions key={`${shown} ${opened}`} area={area} file={shown} />
      <main ref={area}>
        <div className="h5web">
          <H5GroveProvider key={shown} url={SERVER} filepath={shown} fetcher={fetcher} resetKeys={[opened]}>
            <App />
          </H5GroveProvider>
        </div>
        {panel && <Panel key={`${shown} ${opened}`} area={area} file={shown} kind={panel} onClose={() => setPanel(undefined)} />}
      </main>
    </>
  );
}

function Panel({ area, file, kind, onClose }: { area: React.RefObject<HTMLElement | null>; file: string; kind: PanelKey; onClose: () => void }) {
  const path = useSelected(area);
  const { title, Content } = PANELS[kind];
  return (
    <aside aria-label={title}>
      <h2>
        {title === '?' ? 'Keys' : title} {kind !== 'p' && kind !== '?' && <code>{path}</code>}
        <button type="button" aria-label="Close" onClick={onClose}>
          ×
        </button>
      </h2>
      {path !== undefined && <Content file={file} path={path} />}
    </aside>
  );
}

const root = document.querySelector('#root');
if (root) {
  createRoot(root).render(
    <StrictMode>
      <Page />
    </StrictMode>,
  );
}
