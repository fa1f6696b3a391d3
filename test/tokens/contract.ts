import { beforeAll, describe, expect, test } from 'vitest';
import { expectError } from '../harness/samples.ts';
import { startTestService, type TestService } from '../harness/service.ts';

/** The issuer of tokens for one authentication method. */
export interface Issuer {
  /** The environment variables of a service that accepts the tokens. */
  readonly variables: Record<string, string>;
  /** The ids of the two projects. */
  readonly projects: readonly [string, string];
  /** The challenges in `WWW-Authenticate` of 401 responses. */
  readonly challenges: { readonly unknownCaller: string; readonly missingRight: string };
  /** Issues a token with a role in one of the projects. */
  issue(service: TestService, role: 'admin' | 'member' | 'reader', project: 0 | 1): Promise<string>;
  issueExpired(service: TestService): Promise<string>;
  issueRevoked(service: TestService): Promise<string>;
}

/**
 * Returns the identity headers that the middleware of other OpenStack services sets. The middleware
 * first removes the headers with these names that the caller sent.
 */
function identityHeaders(project: string): Record<string, string> {
  return {
    'x-identity-status': 'Confirmed',
    'x-roles': 'admin',
    'x-role': 'admin',
    'x-user-id': 'someone',
    'x-project-id': project,
    'x-tenant-id': project,
    'x-is-admin-project': 'True',
    'openstack-system-scope': 'all',
    'x-service-roles': 'admin',
  };
}

/**
 * Defines the tests that every authentication method must pass. `open` runs once, before the tests.
 */
export function authenticationContract(name: string, open: () => Promise<Issuer>): void {
  describe(name, () => {
    let issuer: Issuer;
    let service: TestService;
    let admin: string;
    let member: string;
    let reader: string;
    beforeAll(async () => {
      issuer = await open();
      service = await startTestService(issuer.variables);
      admin = await issuer.issue(service, 'admin', 0);
      member = await issuer.issue(service, 'member', 0);
      reader = await issuer.issue(service, 'reader', 0);
    }, 120_000);

    const message = 'The request you have made requires authentication.';
    const expectUnknown = async (token: string, headers?: Record<string, string>) => {
      const response = await service.with(token).get('/v2/tlds', headers);
      expect(expectError(response, 401, 'unauthorized')).toBe(message);
      expect(response.body.error).toEqual({ code: 401, title: 'Unauthorized', message });
      expect(response.headers.get('www-authenticate')).toBe(issuer.challenges.unknownCaller);
    };
    const createZone = (token: string, name: string) =>
      service.with(token).post('/v2/zones', { name, email: 'hostmaster@example.org' });

    test('201 and 200 for an administrator', async () => {
      expect((await service.with(admin).post('/v2/tlds', { name: 'org' })).status).toBe(201);
      expect((await service.with(admin).get('/v2/tlds')).status).toBe(200);
    });

    test('401 access_denied for a member and a reader', async () => {
      for (const token of [member, reader]) {
        const response = await service.with(token).get('/v2/tlds');
        expect(response).toMatchObject({ status: 401, body: { code: 401, type: 'access_denied' } });
        expect(response.headers.get('www-authenticate')).toBe(issuer.challenges.missingRight);
      }
    });

    test('401 without a token', async () => {
      await expectUnknown('');
      expect((await fetch(`${service.url}/v2/tlds`)).status).toBe(401);
    });

    test('401 for invalid tokens', async () => {
      const strange = [
        'x',
        'tsigil_',
        `tsigil_${'A'.repeat(43)}`,
        'gAAAAAB',
        '%00',
        '"',
        '../..',
        'é',
        'a'.repeat(300),
        'a'.repeat(8000),
        `${admin}x`,
      ];
      for (const token of strange) await expectUnknown(token);
    });

    test('401 for an expired token', async () => expectUnknown(await issuer.issueExpired(service)));

    test('401 for a revoked token', async () => expectUnknown(await issuer.issueRevoked(service)));

    test('404 for a zone of another project, and no list contains the zone', async () => {
      const otherMember = await issuer.issue(service, 'member', 1);
      const { status, body } = await createZone(member, 'one.org.');
      expect([status, body.project_id]).toEqual([201, issuer.projects[0]]);
      expect((await createZone(otherMember, 'two.org.')).body.project_id).toBe(issuer.projects[1]);
      const seen = async (token: string) =>
        (await service.with(token).get('/v2/zones')).body.zones.map(
          (zone: { name: string }) => zone.name,
        );
      expect([await seen(member), await seen(reader), await seen(otherMember)]).toEqual([
        ['one.org.'],
        ['one.org.'],
        ['two.org.'],
      ]);
      expect((await service.with(otherMember).get(`/v2/zones/${body.id}`)).status).toBe(404);
      expect((await service.with(otherMember).delete(`/v2/zones/${body.id}`)).status).toBe(404);
      expect((await service.with(reader).delete(`/v2/zones/${body.id}`)).status).toBe(401);
    });

    test('401 for a member who claims to be an administrator in headers', async () => {
      const headers = identityHeaders(issuer.projects[1]);
      expect((await service.with(member).get('/v2/tlds', headers)).status).toBe(401);
      const { status, body } = await service
        .with(member)
        .post('/v2/zones', { name: 'claimed.org.', email: 'a@example.org' }, headers);
      expect([status, body.project_id]).toEqual([201, issuer.projects[0]]);
      await expectUnknown('', headers);
    });

    test('200, and the log line contains the caller and the project', async () => {
      const { headers } = await service.with(member).get('/v2/zones');
      const line = service.log
        .map((text) => JSON.parse(text))
        .find(
          ({ requestId, msg }) =>
            msg === 'request' && requestId === headers.get('x-openstack-request-id'),
        );
      expect(line).toMatchObject({
        projectId: issuer.projects[0],
        caller: expect.stringContaining('member'),
        callerId: expect.any(String),
      });
      expect(service.log.filter((text) => text.includes(member))).toEqual([]);
    });
  });
}
