import { text } from 'node:stream/consumers';
import { expect, test } from 'vitest';
import { runInside } from '../cli/session.ts';
import { serve } from '../harness/connections.ts';
import { KEY_MEMBERS } from '../harness/samples.ts';
import { startTestService } from '../harness/service.ts';

test('tsigkey list sends two requests for 1,000 keys, and one if it prints no states', async () => {
  const service = await startTestService();
  for (let index = 0; index < 5; index += 1)
    await service.post('/v2/tsigkeys', { ...KEY_MEMBERS, name: `key${index}` });
  const requests: string[] = [];
  const url = await serve((request, response) => {
    const { method = '', url: path = '' } = request;
    requests.push(`${method} ${path}`);
    void text(request)
      .then((body) => service.call(method, path, body === '' ? undefined : body))
      .then((answer) => response.writeHead(answer.status).end(answer.text));
  });
  const run = (...argv: string[]) =>
    runInside({ variables: { ...service.variables, TSIGIL_URL: url } }, 'tsigkey', 'list', ...argv);
  expect((await run()).out.split('\n')).toHaveLength(7);
  expect(requests.splice(0)).toEqual(['GET /v2/tsigkeys', 'POST /v2/tsigkeys/states']);
  await run('-f', 'json');
  expect(requests).toEqual(['GET /v2/tsigkeys']);
});
