// Keys of the page. They work unless something is typed.
import { useEffect } from 'react';

export const KEYS: Record<string, string> = {
  o: 'overview',
  h: 'histogram',
  c: 'condition',
  s: 'SQL',
  p: 'pictures',
  f: 'choose a file',
  t: 'the tree of the file; arrows move in it',
  r: 'read the file again',
  Escape: 'leave a field, then close the panel',
  '?': 'these keys',
};

function isTyping(target: EventTarget | null): target is HTMLElement {
  return target instanceof HTMLElement && (target.isContentEditable || ['INPUT', 'TEXTAREA', 'SELECT'].includes(target.tagName));
}

export function useKeys(act: (key: string) => void) {
  useEffect(() => {
    const press = (event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey || !(event.key in KEYS)) {
        return;
      }
      if (isTyping(event.target)) {
        if (event.key === 'Escape') {
          event.target.blur();
        }
        return;
      }
      event.preventDefault();
      act(event.key);
    };
    window.addEventListener('keydown', press);
    return () => window.removeEventListener('keydown', press);
  }, [act]);
}

export function Keys() {
  return (
    <dl className="keys panel-content">
      {Object.entries(KEYS).map(([key, meaning]) => (
        <div key={key}>
          <dt>
            <kbd>{key}</kbd>
          </dt>
          <dd>{meaning}</dd>
        </div>
      ))}
    </dl>
  );
}
