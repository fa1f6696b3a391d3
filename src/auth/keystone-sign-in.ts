import { anyText, array, boolean, type ValueOf } from '../domain/model/field.ts';
import { optional, responseObject } from '../domain/model/object.ts';
import type { IssuesTokens, PersonalCredentials, Project } from '../domain/model/ports.ts';
import { deadlineAfter } from '../net/deadline.ts';
import { authOf } from '../net/keystone-credentials.ts';
import type { KeystoneApi, KeystoneResponse } from '../net/keystone-api.ts';
import { isRefusal, keystoneUnavailable, responseOf } from './keystone-client.ts';

const PROJECTS = responseObject({
  projects: array(
    responseObject({
      id: anyText(),
      name: anyText(),
      domain_id: anyText(),
      enabled: optional(boolean()),
    }),
    0,
    Infinity,
  ),
});

/** The methods that a further attempt must combine, in the response with a receipt. */
const RECEIPT = responseObject({ required_auth_methods: array(array(anyText(), 0, 99), 0, 99) });

const WITH_PASSCODE = ['password', 'totp'];

/** How Keystone refuses a person: also a disabled user, and a password that has expired. */
const REFUSALS = [400, 401, 403, 404];

const FAILED = 'Cannot sign in';

/** Gets tokens from Keystone for persons who sign in to the web console. */
export function issueTokens(api: KeystoneApi, timeoutSeconds: number): IssuesTokens {
  const send = (request: Promise<KeystoneResponse>) => responseOf(api, request, FAILED);
  const unexpected = ({ status }: KeystoneResponse) =>
    keystoneUnavailable(`returned ${status} for the sign-in of a person`, FAILED);
  const issue = (auth: object) => send(api.issueToken(auth, deadlineAfter(timeoutSeconds)));
  return {
    async issue(credentials) {
      const response = await issue(authOf('password', membersOf(credentials)));
      if (response.status === 201 && response.subjectToken !== undefined)
        return response.subjectToken;
      if (response.status === 401 && response.hasReceipt)
        return needsPasscode(response) ? { needs: 'passcode' } : undefined;
      if (isRefusal(response, REFUSALS)) return undefined;
      throw unexpected(response);
    },
    async projects(token) {
      const response = await send(api.listProjects(token, deadlineAfter(timeoutSeconds)));
      if (isRefusal(response, REFUSALS)) return [];
      const read = PROJECTS.parse(response.body);
      if (response.status !== 200 || 'problem' in read) throw unexpected(response);
      return projectsIn(read.value);
    },
    async scope(token, projectId) {
      const auth = authOf('token', { token, project_id: projectId });
      const response = await issue(auth);
      if (response.status === 201 && response.subjectToken !== undefined)
        return response.subjectToken;
      if (isRefusal(response, REFUSALS)) return undefined;
      throw unexpected(response);
    },
    async revoke(token) {
      const response = await send(api.revokeToken(token, deadlineAfter(timeoutSeconds)));
      // A token that is not valid any more cannot revoke itself.
      if (response.status !== 204 && !isRefusal(response, [401, 404])) throw unexpected(response);
    },
  };
}

function membersOf({ user, userDomain, password, passcode }: PersonalCredentials) {
  return { username: user, user_domain_name: userDomain, password, passcode };
}

function needsPasscode({ body }: KeystoneResponse): boolean {
  const read = RECEIPT.parse(body);
  if ('problem' in read) return false;
  return read.value.required_auth_methods.some(
    (rule) => rule.includes('totp') && rule.every((name) => WITH_PASSCODE.includes(name)),
  );
}

function projectsIn({ projects }: ValueOf<typeof PROJECTS>): Project[] {
  return projects
    .filter(({ enabled }) => enabled !== false)
    .map(({ id, name, domain_id: domainId }) => ({ id, name, domainId }))
    .sort((one, other) => (one.name < other.name ? -1 : 1));
}
