// The page: a choice of files, H5Web over the server that gave the page, and a panel for what H5Web does not have.
import '@h5web/app/styles.css';
import './page.css';

import { App, H5GroveProvider } from '@h5web/app';
import { type RefObject, StrictMode, useCallback, useEffect, useRef, useState } from 'react';
import { createRoot } from 'react-dom/client';

import { Condition } from './Condition';
import { Dimensions } from './Dimensions';
import { Histogram } from './Histogram';
import { Keys, useKeys } from './keyboard';
import { Overview } from './Overview';
import { Pictures } from './Pictures';
import { useSelected } from './selected';
import { ask, fetcher, SERVER, NOT_DRAWN } from './server';
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

// Frames in which a tree that was hidden appears.
const MAX_FRAMES = 30;

// Opens the tree if it is hidden.
function focusTree(area: HTMLElement | null) {
  const item = area?.querySelector<HTMLElement>('[role="treeitem"][aria-selected="true"]') ?? area?.querySelector<HTMLElement>('[role="treeitem"]');
  if (item?.checkVisibility({ visibilityProperty: true }) === false) {
    area?.querySelector<HTMLElement>('[aria-label="Toggle sidebar"]')?.click();
  }
  const focus = (attempts: number) => {
    item?.focus();
    if (attempts > 0 && document.activeElement !== item) {
      window.requestAnimationFrame(() => focus(attempts - 1)); // it is not drawn yet
    }
  };
  focus(MAX_FRAMES);
}

function Page() {
  const [files, setFiles] = useState<string[]>();
  const [file, setFile] = useState(named());
  const [problem, setProblem] = useState<string>();
  const [opened, setOpened] = useState(0);
  const [failed, setFailed] = useState(0);
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
    window.addEventListener(NOT_DRAWN, open);
    return () => window.removeEventListener(NOT_DRAWN, open);
  }, []);

  const shown = file || files?.[0];
  useEffect(() => {
    document.title = shown ? `${shown} – Hyperslab` : 'Hyperslab';
  }, [shown]);

  const readAgain = useCallback(() => {
    setOpened((before) => before + 1);
    if (!area.current?.querySelector('[role="treeitem"]')) {
      setFailed((before) => before + 1); // H5Web keeps the error of a file that it could not open: it is made again
    }
  }, []);

  useKeys(
    useCallback((key) => {
      if (key === 'f') {
        choice.current?.focus();
      } else if (key === 't') {
        focusTree(area.current);
      } else if (key === 'r') {
        readAgain();
      } else if (key === 'Escape') {
        setPanel(undefined);
      } else if (isPanel(key)) {
        setPanel((before) => (before === key ? undefined : key));
      }
    }, [readAgain]),
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
              {(files.includes(shown) ? files : [shown, ...files]).map((name) => (
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
        <button type="button" title="Key: r" onClick={readAgain}>
          Read again
        </button>
      </header>
      <Opened key={`${shown} ${failed}`} file={shown} times={opened} area={area} panel={panel} onClose={() => setPanel(undefined)} />
    </>
  );
}

interface OpenedProps {
  file: string;
  // How often it was read again.
  times: number;
  area: RefObject<HTMLElement>;
  panel: PanelKey | undefined;
  onClose: () => void;
}

// H5Web with the file, and what belongs to the object that is selected in it.
function Opened({ file, times, area, panel, onClose }: OpenedProps) {
  const path = useSelected(area);
  return (
    <>
      {path !== undefined && <Dimensions key={times} file={file} path={path} />}
      <main ref={area}>
        <div className="h5web">
          <H5GroveProvider url={SERVER} filepath={file} fetcher={fetcher} resetKeys={[times]}>
            <App />
          </H5GroveProvider>
        </div>
        {panel && path !== undefined && <Panel key={times} file={file} path={path} kind={panel} onClose={onClose} />}
      </main>
    </>
  );
}

function Panel({ file, path, kind, onClose }: { file: string; path: string; kind: PanelKey; onClose: () => void }) {
  const { title, Content } = PANELS[kind];
  return (
    <aside aria-label={title}>
      <h2>
        {title === '?' ? 'Keys' : title} {kind !== 'p' && kind !== '?' && <code>{path}</code>}
        <button type="button" aria-label="Close" onClick={onClose}>
          ×
        </button>
      </h2>
      <Content file={file} path={path} />
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
