// The page: a choice of files, H5Web over the server that gave the page, and a panel for what H5Web does not have.
import '@h5web/app/styles.css';
import './page.css';

import { StrictMode, useCallback, useEffect, useRef, useState } from 'react';
import { createRoot } from 'react-dom/client';

import { useKeys } from './keyboard';
import { forgetLegends, type Values } from './legends';
import { Opened } from './Opened';
import { isPanel, type PanelKey, PANELS } from './panels';
import { ask, NOT_DRAWN } from './server';
import { useNarrow } from './narrow';

function named(): string {
  return decodeURIComponent(window.location.hash.slice(1));
}

// H5Web begins with three digits and an exponent for every number of a table, row numbers and ids as well.
if (localStorage.getItem('h5web:matrix') === null) {
  localStorage.setItem('h5web:matrix', JSON.stringify({ state: { notation: 'Auto' }, version: 4 }));
}

// Frames in which a tree that was hidden appears.
const MAX_FRAMES = 30;

// Opens the tree if it is hidden.
function focusTree(area: HTMLElement | null, isNarrow: boolean) {
  const item = area?.querySelector<HTMLElement>('[role="treeitem"][aria-selected="true"]') ?? area?.querySelector<HTMLElement>('[role="treeitem"]');
  if (!isNarrow && item?.checkVisibility({ visibilityProperty: true }) === false) {
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
  const [values, setValues] = useState<Values>('decoded');
  const [isTree, setTree] = useState(false);
  const isNarrow = useNarrow();
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

  useEffect(() => setTree(false), [shown]);

  const readAgain = useCallback(() => {
    forgetLegends();
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
        setTree(true);
        focusTree(area.current, isNarrow);
      } else if (key === 'r') {
        readAgain();
      } else if (key === 'Escape') {
        setTree(false);
        setPanel(undefined);
      } else if (isPanel(key)) {
        setPanel((before) => (before === key ? undefined : key));
      }
    }, [readAgain, isNarrow]),
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
        {isNarrow && (
          <button type="button" title="Key: t" aria-expanded={isTree} onClick={() => setTree(!isTree)}>
            ☰ Tree
          </button>
        )}
        {files.length > 1 && (
          <label className="file">
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
      <Opened
        key={`${shown} ${failed}`}
        file={shown}
        times={opened}
        area={area}
        panel={panel}
        onPanel={setPanel}
        values={values}
        onValues={setValues}
        isTree={isNarrow && isTree}
        onTree={setTree}
      />
    </>
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
