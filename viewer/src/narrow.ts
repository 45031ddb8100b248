// Whether the window has room for one column only (page.css knows the same width).
import { useSyncExternalStore } from 'react';

const query = window.matchMedia('(max-width: 700px)');

function subscribe(listen: () => void) {
  query.addEventListener('change', listen);
  return () => query.removeEventListener('change', listen);
}

export function useNarrow(): boolean {
  return useSyncExternalStore(subscribe, () => query.matches);
}
