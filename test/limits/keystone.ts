import { serve } from '../harness/connections.ts';

/** A fake Keystone that refuses every token and counts requests. */
export interface EmptyKeystone {
  readonly url: string;
  asked(): number;
}

/** Starts a fake Keystone until the end of the test. */
export async function startEmptyKeystone(): Promise<EmptyKeystone> {
  let asked = 0;
  const url = await serve((_request, response) => {
    asked += 1;
    const error = {
      code: 404,
      title: 'Not Found',
      message: 'This is not a recognized Fernet token',
    };
    response.writeHead(404, { 'content-type': 'application/json' }).end(JSON.stringify({ error }));
  });
  return { url, asked: () => asked };
}
