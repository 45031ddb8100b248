// The object that is selected in H5Web's tree, which has no callback for it: its elements say it.
import { type RefObject, useEffect, useState } from 'react';

const SELECTED = '[role="treeitem"][aria-selected="true"]';

function selectedIn(area: HTMLElement | null): string | undefined {
  return area?.querySelector<HTMLElement>(SELECTED)?.dataset.path;
}

// What is shown first until the tree is drawn. Stays the same while the tree is hidden.
export function useSelected(area: RefObject<HTMLElement>, first: string): string {
  const [path, setPath] = useState(first);
  useEffect(() => {
    const whole = area.current;
    if (!whole) {
      return undefined;
    }
    const look = () => setPath((before) => selectedIn(whole) ?? before);
    const observer = new MutationObserver(look);
    observer.observe(whole, { subtree: true, childList: true, attributes: true, attributeFilter: ['aria-selected'] });
    look();
    return () => observer.disconnect();
  }, [area]);
  return path;
}
