import { json } from 'node:stream/consumers';
import { serve } from '../harness/connections.ts';

/**
 * A fake identity service that accepts one password and one application credential. It issues one
 * token.
 */
export interface FakeKeystone {
  readonly url: string;
  /** The bodies of all requests for a token, in order. */
  readonly asked: unknown[];
}

/** An endpoint of type `dns` in the catalogue. */
export interface Endpoint {
  readonly interface: string;
  readonly region: string;
  readonly url: string;
}

export const PASSWORD = 'a-password-for-the-cloud';
export const CREDENTIAL_SECRET = 'an-application-credential-secret';

interface Request {
  readonly auth: {
    readonly identity: {
      readonly password?: { readonly user: { readonly password: string } };
      readonly application_credential?: { readonly secret: string };
    };
  };
}

/**
 * Starts a fake identity service. Every sign-in returns `token` and a catalogue with `endpoints`.
 */
export async function startFakeKeystone(
  token: string,
  endpoints: readonly Endpoint[],
): Promise<FakeKeystone> {
  const asked: unknown[] = [];
  const url = await serve((request, response) => {
    void json(request).then((body) => {
      asked.push(body);
      const { identity } = (body as Request).auth;
      const valid =
        identity.password?.user.password === PASSWORD ||
        identity.application_credential?.secret === CREDENTIAL_SECRET;
      if (request.url !== '/identity/v3/auth/tokens' || request.method !== 'POST')
        return response.writeHead(404).end('<html>Not found</html>');
      if (!valid)
        return response.writeHead(401).end(
          JSON.stringify({
            error: { code: 401, message: 'Wrong "credentials".', title: 'Unauthorized' },
          }),
        );
      const catalog = [
        {
          type: 'identity',
          endpoints: [{ interface: 'public', region_id: 'one', url: 'http://127.0.0.1:1' }],
        },
        {
          type: 'dns',
          endpoints: endpoints.map(({ region, ...endpoint }) => ({
            ...endpoint,
            region_id: region,
            region,
          })),
        },
      ];
      return response
        .writeHead(201, { 'x-subject-token': token })
        .end(JSON.stringify({ token: { catalog } }));
    });
  });
  return { url: `${url}/identity`, asked };
}
