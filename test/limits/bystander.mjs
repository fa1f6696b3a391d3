// Another caller of an attacked service, in a separate process. It sends requests at steady rates
// and measures the duration of each request.
import { Agent, request as httpRequest } from 'node:http';
import { request as httpsRequest, Agent as SecureAgent } from 'node:https';

/** The outcomes of all requests by probe, in the order of the responses. */
const samples = {};
const timers = [];
const agents = [];
let outstanding = 0;
let stopping = false;

process.on('message', (job) => {
  if (job.probes !== undefined) return job.probes.forEach(start);
  timers.forEach(clearInterval);
  stopping = true;
  return reportAtTheEnd();
});
process.on('disconnect', () => process.exit());

/**
 * Sends the report once the other caller has stopped and every request has a response or has
 * failed.
 */
function reportAtTheEnd() {
  if (!stopping || outstanding > 0) return;
  agents.forEach((agent) => agent.destroy());
  process.send(samples, () => process.disconnect());
}

/** Sends the requests of one probe until the message to stop arrives. */
function start(probe) {
  const secure = probe.url.startsWith('https:');
  const options = {
    keepAlive: probe.newConnections !== true,
    maxSockets: 4,
    rejectUnauthorized: false,
  };
  const agent = secure ? new SecureAgent(options) : new Agent(options);
  agents.push(agent);
  samples[probe.name] = [];
  let number = 0;
  const repeat = () => {
    const at = Date.now();
    const began = performance.now();
    const body = probe.body?.replaceAll('{number}', String((number += 1)));
    outstanding += 1;
    let finished = false;
    const finish = (status, fault) => {
      if (finished) return;
      finished = true;
      clearTimeout(deadline);
      outstanding -= 1;
      samples[probe.name].push({ at, milliseconds: performance.now() - began, status, fault });
      reportAtTheEnd();
    };
    let current;
    // The timeout begins before the connection, so that it includes the wait for a connection.
    const deadline = setTimeout(() => {
      current.destroy();
      finish(0, 'no answer in time');
    }, probe.timeoutSeconds * 1000);
    const send = (mayRepeat) => {
      const headers = {
        ...probe.headers,
        ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
      };
      const settings = { method: probe.method, headers, agent, rejectUnauthorized: false };
      const request = (secure ? httpsRequest : httpRequest)(probe.url, settings, (response) => {
        response.resume();
        response.on('close', () =>
          finish(response.complete ? response.statusCode : 0, 'the response was incomplete'),
        );
      });
      current = request;
      // The service may close an idle connection. HTTP clients then repeat the request.
      request.on('error', (error) =>
        mayRepeat && request.reusedSocket && error.code === 'ECONNRESET'
          ? send(false)
          : finish(0, error.message),
      );
      request.end(body);
    };
    send(true);
  };
  timers.push(setInterval(repeat, 1000 / probe.perSecond));
}
