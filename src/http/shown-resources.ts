import type { FastifyReply, FastifyRequest } from 'fastify';
import { secretFields } from '../core/response.ts';
import { perType } from '../core/resource.ts';
import type { ChangeContext } from '../resources/operations/change.ts';
import { mayReveal } from '../resources/policy.ts';
import { HIDE_SECRETS, isSet, WARNING_HEADER } from './request/context.ts';
import { signedIn } from './request/guard.ts';
import { createWriter } from './resource-json.ts';

/**
 * Returns the writers of a type: with its secrets, and the ones for a request. A session of the
 * console gets a secret only from the request that creates it, or that reveals or exports it.
 */
export const writersOf = perType((type) => {
  const whole = createWriter(type);
  const secrets = secretFields(type);
  const withoutSecrets = createWriter(type, secrets);
  const maySee = (request: FastifyRequest) =>
    mayReveal(request.settings.dependencies.policy, signedIn(request), type) &&
    !(secrets.length > 0 && isSet(request, HIDE_SECRETS));
  return {
    whole,
    writerFor: (request: FastifyRequest) =>
      maySee(request) && (secrets.length === 0 || signedIn(request).session === undefined)
        ? whole
        : withoutSecrets,
    creationWriter: (request: FastifyRequest) => (maySee(request) ? whole : withoutSecrets),
    /** Returns whether a caller may see warnings, which say something about secrets. */
    seesWarnings: maySee,
  };
});

/** Adds a header with the warnings of a change, as a list of strings (RFC 9651 section 3.1). */
export function addWarnings(reply: FastifyReply, { warnings = [] }: ChangeContext): void {
  if (warnings.length === 0) return;
  reply.header(WARNING_HEADER, warnings.map((each) => JSON.stringify(each)).join(', '));
}
