// Answers that may take long: asked for, waited for, cancelled.
import { useCallback, useEffect, useRef, useState } from 'react';

export interface Waiting<T> {
  answer: T | undefined;
  problem: string | undefined;
  isWaiting: boolean;
  run: (make: (signal: AbortSignal) => Promise<T>) => void;
  cancel: () => void;
}

// One request at a time: a new one cancels the one before, and so does leaving the page.
export function useWaiting<T>(): Waiting<T> {
  const [answer, setAnswer] = useState<T>();
  const [problem, setProblem] = useState<string>();
  const [isWaiting, setWaiting] = useState(false);
  const running = useRef<AbortController>(undefined);

  const cancel = useCallback(() => {
    running.current?.abort();
    running.current = undefined;
    setWaiting(false);
  }, []);

  const run = useCallback((make: (signal: AbortSignal) => Promise<T>) => {
    running.current?.abort();
    const mine = new AbortController();
    running.current = mine;
    setWaiting(true);
    setProblem(undefined);
    make(mine.signal).then(
      (found) => {
        if (running.current === mine) {
          setAnswer(found);
          setWaiting(false);
        }
      },
      (error: unknown) => {
        if (running.current === mine) {
          setAnswer(undefined);
          setProblem(error instanceof Error ? error.message : String(error));
          setWaiting(false);
        }
      },
    );
  }, []);

  useEffect(() => () => running.current?.abort(), []);
  return { answer, problem, isWaiting, run, cancel };
}
