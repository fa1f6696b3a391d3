import { randomUUID } from 'node:crypto';
import { authenticationContract } from './contract.ts';

const PROJECTS = [randomUUID(), randomUUID()] as const;

authenticationContract("the service's own tokens", async () => ({
  variables: {},
  projects: PROJECTS,
  challenges: { unknownCaller: 'Bearer', missingRight: 'Bearer error="insufficient_scope"' },
  async issue(service, role, project) {
    const { body } = await service.post('/v2/tokens', {
      name: `${role}-${randomUUID()}`,
      roles: [role],
      project_id: PROJECTS[project],
    });
    return body.token;
  },
  async issueExpired(service) {
    const { body } = await service.post('/v2/tokens', {
      name: randomUUID(),
      roles: ['admin'],
      expires_at: '2020-01-31T12:00:00.000000',
    });
    return body.token;
  },
  async issueRevoked(service) {
    const { body } = await service.post('/v2/tokens', { name: randomUUID(), roles: ['admin'] });
    await service.delete(`/v2/tokens/${body.id}`);
    return body.token;
  },
}));
