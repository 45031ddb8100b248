// The page: a choice of files, and H5Web over the server that gave the page.
import '@h5web/app/styles.css';
import './page.css';

import { App, createBasicFetcher, type Fetcher, H5GroveProvider } from '@h5web/app';
import { StrictMode, useEffect, useState } from 'react';
import { createRoot } from 'react-dom/client';

// The page's own address ends with the token, below which the server answers.
const SERVER = new URL('.', window.location.href).href.replace(/\/$/u, '');

// A browser draws some thousand members of a group well, and takes minutes for 100,000.
const PAGE_MEMBERS = 2000;
const plainly = createBasicFetcher();
const fetcher: Fetcher = (url, params, options) => plainly(url, { ...params, page_members: String(PAGE_MEMBERS) }, options);

function named(): string {
  return decodeURIComponent(window.location.hash.slice(1));
}

async function listed(): Promise<string[]> {
  const answer = await fetch(`${SERVER}/files/`);
  if (!answer.ok) {
    throw new Error(`the server answered ${answer.status}: is it still running?`);
  }
  return answer.json() as Promise<string[]>;
}

function Page() {
  const [files, setFiles] = useState<string[]>();
  const [file, setFile] = useState(named());
  const [problem, setProblem] = useState<string>();
  const [opened, setOpened] = useState(0);

  useEffect(() => {
    listed().then(setFiles, (error: unknown) => setProblem(String(error)));
    const follow = () => setFile(named());
    window.addEventListener('hashchange', follow);
    return () => window.removeEventListener('hashchange', follow);
  }, [opened]);

  const shown = file || files?.[0];
  useEffect(() => {
    document.title = shown ? `${shown} – Hyperslab` : 'Hyperslab';
  }, [shown]);

  if (problem) {
    return <p className="said">{problem}</p>;
  }
  if (!files) {
    return <p className="said">Listing files …</p>;
  }
  if (!shown) {
    return <p className="said">There is no file of HDF5 or netCDF here.</p>;
  }
  return (
    <>
      <header>
        {files.length > 1 && (
          <label>
            File{' '}
            <select
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
        <button type="button" onClick={() => setOpened(opened + 1)}>
          Read again
        </button>
      </header>
      <main>
        <H5GroveProvider key={shown} url={SERVER} filepath={shown} fetcher={fetcher} resetKeys={[opened]}>
          <App />
        </H5GroveProvider>
      </main>
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
