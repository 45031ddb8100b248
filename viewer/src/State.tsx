// What an answer is like: waited for, refused, or there.
import type { Waiting } from './answers';

export function State({ waiting, seconds }: { waiting: Pick<Waiting<unknown>, 'isWaiting' | 'problem' | 'cancel'>; seconds?: number }) {
  if (waiting.isWaiting) {
    return (
      <p className="state" role="status">
        Working …{' '}
        <button type="button" onClick={waiting.cancel}>
          Cancel
        </button>
      </p>
    );
  }
  if (waiting.problem) {
    return (
      <p className="state problem" role="alert">
        {waiting.problem}
      </p>
    );
  }
  return seconds === undefined ? null : <p className="state">{seconds.toFixed(2)} s</p>;
}
