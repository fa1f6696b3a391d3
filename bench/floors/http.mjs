// Bare node:http. The number in the path of a request is the length of the response body.
import { createServer } from 'node:http';

const bodies = new Map();
const bodyOf = (path) =>
  bodies.get(path) ?? bodies.set(path, 'x'.repeat(Number(path.slice(1)))).get(path);
const server = createServer((request, response) => {
  const body = bodyOf(request.url);
  response.writeHead(200, {
    'content-type': 'application/json; charset=UTF-8',
    'content-length': body.length,
  });
  response.end(body);
});
server.listen(0, '127.0.0.1', () =>
  process.send({ url: `http://127.0.0.1:${server.address().port}` }),
);
process.on('disconnect', () => process.exit());
