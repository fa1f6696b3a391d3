import { recordSecret } from './evidence.ts';
import type { ApiResponse, Client } from './client.ts';

/** What a browser sends with a request of a page of the service itself. */
export const SAME_ORIGIN = { 'sec-fetch-site': 'same-origin', 'x-auth-token': '' };

/** A browser that is signed in to the console of a service. */
export interface Browser {
  /** The header with the cookie of the session. */
  readonly cookie: string;
  /** The response to the sign-in. */
  readonly opened: ApiResponse;
  /** Sends a request of a page of the service. */
  call(
    method: string,
    path: string,
    body?: unknown,
    headers?: Record<string, string>,
  ): Promise<ApiResponse>;
}

/** Returns the header with the cookie of a session for a service at another port. */
export function cookieAt({ url }: { readonly url: string }, cookie: string): string {
  return cookie.replace(/^.*?=/, `tsigil-${new URL(url).port}=`);
}

/** Signs in as a browser does. The status of `opened` says whether that succeeded. */
export async function signIn(
  service: Client,
  credential: object = { method: 'token', token: service.token },
  headers: Record<string, string> = {},
): Promise<Browser> {
  const opened = await service.post('/console/session', credential, { ...SAME_ORIGIN, ...headers });
  const [cookie = ''] = (opened.headers.get('set-cookie') ?? '').split(';');
  if (cookie !== '') recordSecret(cookie.split('=')[1] ?? '');
  return {
    cookie,
    opened,
    call: (method, path, body, further = {}) =>
      service.call(method, path, body, { ...SAME_ORIGIN, ...headers, cookie, ...further }),
  };
}
