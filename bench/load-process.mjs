// Generates load with autocannon, in a child process. `load.mjs` sends the jobs.
import autocannon from 'autocannon';
import { forgetCreated, TRAFFIC } from './traffic.mjs';

process.on('message', async (job) => {
  if (job.forget === true) forgetCreated();
  process.send(await run(job));
});

/** Runs one job and returns its `LoadResult`. */
async function run({ url, headers, traffic, args, connections, seconds, amount, rate }) {
  const { make, check } = TRAFFIC[traffic](args);
  const allHeaders = { 'content-type': 'application/json', ...headers };
  const times = [];
  const wrong = { count: 0, first: undefined };
  const began = performance.now();
  const result = await autocannon({
    url,
    headers: allHeaders,
    // autocannon sends at least one request on each connection.
    connections: Math.min(connections, amount ?? connections),
    ...(amount === undefined ? { duration: seconds } : { amount }),
    ...(rate === undefined ? {} : { overallRate: rate }),
    timeout: 30,
    sampleInt: 50, // autocannon checks the time only at this interval, in milliseconds
    requests: [
      {
        setupRequest(request, context) {
          context.sent = make();
          const { method, path, body } = context.sent;
          // Each request needs a copy of the headers, because autocannon adds the body's length to
          // them.
          return { ...request, headers: { ...allHeaders }, method, path, body };
        },
        onResponse(status, body, context) {
          if (check(status, body, context.sent)) return;
          wrong.count += 1;
          wrong.first ??= `${context.sent.method} ${context.sent.path}: ${status} ${body.slice(0, 300)}`;
        },
      },
    ],
    setupClient: (client) =>
      client.on('response', (_status, _bytes, milliseconds) => times.push(milliseconds)),
  });
  times.sort((one, other) => one - other);
  const at = (part) => times[Math.min(times.length - 1, Math.floor(times.length * part))];
  return {
    requests: times.length,
    seconds: (performance.now() - began) / 1000,
    p50: at(0.5),
    p99: at(0.99),
    wrong: wrong.count + result.errors + result.timeouts,
    firstWrong:
      wrong.first ?? (result.errors > 0 ? `${result.errors} connections failed` : undefined),
  };
}
