// The server that gave the page: its address, requests, and errors in its words.
import { createBasicFetcher, type Fetcher } from '@h5web/app';

// The page's own address ends with the token, below which the server answers.
export const SERVER = new URL('.', window.location.href).href.replace(/\/$/u, '');

// A browser draws some thousand members of a group well, and takes minutes for 100,000.
const PAGE_MEMBERS = 2000;
// Values that H5Web draws without making the page slow; the overview draws any number.
export const MAX_VALUES = 4_000_000;

export type Params = Record<string, string | number | boolean | undefined>;

// Event of the window when H5Web cannot draw values, because there are too many or some are damaged. The overview shows those that there are.
export const NOT_DRAWN = 'hyperslab-not-drawn';
const TOO_LARGE = 413;
const DAMAGED = 500;

export function addressOf(what: string, params: Params): string {
  const given = Object.entries(params).filter(([, value]) => value !== undefined && value !== '');
  return `${SERVER}/${what}?${new URLSearchParams(given.map(([name, value]) => [name, String(value)])).toString()}`;
}

const SILENT = 'the server does not answer: does it still run?';

// Browsers have a TypeError for a connection that cannot be made.
function inWords(error: unknown): unknown {
  return error instanceof TypeError ? new Error(SILENT, { cause: error }) : error;
}

export async function answerOf(address: string, options: RequestInit): Promise<Response> {
  const answer = await fetch(address, options).catch((error: unknown) => {
    throw inWords(error);
  });
  if (!answer.ok) {
    throw new Error(messageOf(await answer.text()) ?? `the server answered ${answer.status}: is it still running?`);
  }
  return answer;
}

export async function ask<T>(what: string, params: Params, signal?: AbortSignal): Promise<T> {
  const answer = await answerOf(addressOf(what, params), { signal });
  return answer.json() as Promise<T>;
}

function messageOf(text: string): string | undefined {
  try {
    const found: unknown = JSON.parse(text);
    return typeof found === 'object' && found !== null && 'message' in found ? String(found.message) : undefined;
  } catch {
    return undefined;
  }
}

const plainly = createBasicFetcher();

// What H5Web asks for: decoded or stored values, with pages of large groups, and with the server's words if something is refused. `prepare` makes what a picture of
// an object needs besides its values.
export function fetcherOf(values: string, prepare: (path: string) => Promise<void>): Fetcher {
  return async (url, params, options) => {
    const isValues = /\/data\/?$/u.test(url);
    const limits: Record<string, string> = isValues ? { max_values: String(MAX_VALUES) } : { page_members: String(PAGE_MEMBERS) };
    try {
      const answer = plainly(url, { ...params, ...limits, values }, options);
      const [found] = await Promise.all([answer, isValues && params.path !== undefined ? prepare(params.path) : undefined]);
      return found;
    } catch (error) {
      if (error instanceof Error && 'buffer' in error && error.buffer instanceof ArrayBuffer) {
        if (isValues && 'status' in error && (error.status === TOO_LARGE || error.status === DAMAGED)) {
          window.dispatchEvent(new Event(NOT_DRAWN));
        }
        throw new Error(messageOf(new TextDecoder().decode(error.buffer)) ?? error.message, { cause: error });
      }
      throw inWords(error);
    }
  };
}
