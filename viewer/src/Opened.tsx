// H5Web with a file, and what belongs to the object that is selected in it.
import { App, type GetExportURL, H5GroveProvider, hasArrayShape, hasNumericType } from '@h5web/app';
import { type RefObject, useCallback, useEffect, useMemo, useRef, useState } from 'react';

import { Dimensions } from './Dimensions';
import { fetchLegend, show, useLegend, type Values } from './legends';
import { useNarrow } from './narrow';
import { type PanelKey, PANELS } from './panels';
import { useSelected } from './selected';
import { addressOf, ask, fetcherOf, SERVER } from './server';
import { ValuesBar } from './ValuesBar';

interface Props {
  file: string;
  // How often it was read again.
  times: number;
  area: RefObject<HTMLElement>;
  panel: PanelKey | undefined;
  onPanel: (panel: PanelKey | undefined) => void;
  values: Values;
  onValues: (values: Values) => void;
  isTree: boolean;
  onTree: (isOpen: boolean) => void;
}

export function Opened(props: Props) {
  const { file } = props;
  const [first, setFirst] = useState<string>();
  useEffect(() => {
    const leaving = new AbortController();
    // Of a file that cannot be read, H5Web says why.
    ask<{ path: string }>('start', { file }, leaving.signal).then(
      ({ path }) => setFirst(path),
      () => leaving.signal.aborted || setFirst('/'),
    );
    return () => leaving.abort();
  }, [file]);
  return first === undefined ? <p className="whole">Opening {file} …</p> : <OpenedAt {...props} first={first} />;
}

function OpenedAt({ file, times, area, panel, onPanel, values, onValues, isTree, onTree, first }: Props & { first: string }) {
  const path = useSelected(area, first);
  const isNarrow = useNarrow();
  // H5Web is made again for other values, and shows the same object.
  const last = useRef(path);
  useEffect(() => {
    last.current = path;
  }, [path]);
  useEffect(() => {
    void fetchLegend(file, path);
    show({ file, path, values });
  }, [file, path, values, times]);

  const fetcher = useMemo(() => fetcherOf(values, (drawn) => fetchLegend(file, drawn)), [file, values]);
  const exportOf = useCallback<GetExportURL>(
    (format, dataset, selection, builtIn) => {
      const isServers = !builtIn && (format === 'npy' || format === 'tiff') && hasArrayShape(dataset) && hasNumericType(dataset);
      return isServers ? new URL(addressOf('data', { file, path: dataset.path, format, selection, values })) : undefined;
    },
    [file, values],
  );

  const picture = useLegend(file, path)?.picture;
  const opened = useRef(false);
  useEffect(() => {
    // A grid whose coordinates have two dimensions is drawn by the server.
    if (picture && panel === undefined) {
      opened.current = true;
      onPanel('p');
    } else if (!picture && opened.current) {
      opened.current = false;
      onPanel(panel === 'p' ? undefined : panel);
    }
  }, [picture]); // eslint-disable-line react-hooks/exhaustive-deps

  return (
    <>
      <ValuesBar file={file} path={path} values={values} onValues={onValues} onPicture={() => onPanel('p')} />
      <Dimensions key={times} file={file} path={path} />
      {/* In one column, the tree covers the picture: it goes when a dataset is chosen; groups have more below. */}
      <main
        ref={area}
        data-tree={isTree || undefined}
        onClick={({ target }) => {
          const item = target instanceof Element ? target.closest('[role="treeitem"]') : null;
          if (item && !item.hasAttribute('aria-expanded')) {
            onTree(false);
          }
        }}
      >
        <div className="h5web">
          <H5GroveProvider key={values} url={SERVER} filepath={file} fetcher={fetcher} getExportURL={exportOf} resetKeys={[times]}>
            <App key={isNarrow ? 'narrow' : 'wide'} initialPath={last.current} sidebarOpen={!isNarrow} />
          </H5GroveProvider>
        </div>
        {panel && <Panel key={times} file={file} path={path} picture={picture} kind={panel} onClose={() => onPanel(undefined)} />}
      </main>
    </>
  );
}

function Panel({ file, path, picture, kind, onClose }: { file: string; path: string; picture: string | null | undefined; kind: PanelKey; onClose: () => void }) {
  const { title, Content } = PANELS[kind];
  const panel = useRef<HTMLElement>(null);
  // In one column, it is below the picture; pictures of the server are next to it.
  useEffect(() => {
    panel.current?.scrollIntoView({ block: kind === 'p' ? 'nearest' : 'start' });
  }, [kind]);
  return (
    <aside aria-label={title} ref={panel}>
      <h2>
        {title === '?' ? 'Keys' : title} {kind !== 'p' && kind !== '?' && <code>{path}</code>}
        <button type="button" aria-label="Close" onClick={onClose}>
          ×
        </button>
      </h2>
      <Content file={file} path={path} picture={picture} />
    </aside>
  );
}
