import { Form, Radios, type ControlProps, type Values } from '../parts/form.tsx';
import { Denied } from '../parts/notices.tsx';
import { PageHead, useTitle } from '../parts/page.tsx';
import { useFields, type Created } from '../parts/resource-forms.tsx';
import { DEFAULT_POOL } from '../pools/default-pool.ts';
import { request } from '../requests.ts';
import { open, pageOf } from '../router.ts';
import { may } from '../session.ts';
import { SetUpSteps } from './steps.tsx';
import { titleOf } from './titles.ts';

const LATER = ['rights', 'description'];

/** Words for people who see names in the place of values. */
const WORDS = {
  driver: { label: 'Program', description: 'What the name server runs.' },
  address: {
    description:
      'The host that responds to DNS queries, with the port if it is not 53: 192.0.2.53:5300 or [2001:db8::53]:5300.',
  },
  pool_id: { description: 'The name server gets the keys of this pool and of its zones.' },
  delivery: {
    label: 'Delivered by',
    description: 'An agent needs no open port: it asks the service for changes.',
  },
  probe_zone: {
    description:
      'A zone on it for signed test queries. Without one, Tsigil uses a zone of the pool that it serves.',
  },
};

const ARRANGEMENT = {
  order: ['driver', 'name', 'address', 'pool_id', 'delivery', 'probe_zone', ...LATER],
  words: WORDS,
  without: ['paused'],
};

function deliveryWords(choice: string): string {
  return choice === 'agent'
    ? 'An agent on the host of the name server'
    : 'The service, which runs on the same host';
}

/** The controls of a name server with words in the place of values. */
export const CONTROLS = {
  driver: (props: ControlProps) => <Radios {...props} words={titleOf} />,
  delivery: (props: ControlProps) => <Radios {...props} words={deliveryWords} />,
};

/** The first step of a new name server: what it is. */
export function NewServer() {
  useTitle('Add a name server');
  const fields = useFields('nameservers', true, ARRANGEMENT);
  const submit = async (given: Values) => {
    const options = { method: 'POST', body: given };
    const { body } = await request<Created>('v2/nameservers', options);
    open(pageOf('nameservers', body.id, 'setup'), { replace: true });
  };
  const list = pageOf('nameservers');
  return (
    <>
      <PageHead title="Add a name server" crumb={{ label: 'Name servers', href: list }} />
      <div class="stack">
        <SetUpSteps at={0} />
        {may('nameservers:create') ? (
          <section class="panel narrow" aria-label="The name server">
            <Form
              collection="nameservers"
              fields={fields}
              values={{ driver: 'bind', delivery: 'agent', pool_id: DEFAULT_POOL }}
              action="Add and show its configuration"
              controls={CONTROLS}
              closed={{ heading: 'More', names: LATER }}
              submit={submit}
              onCancel={() => open(list)}
            />
          </section>
        ) : (
          <Denied right="nameservers:create" what="Adding a name server" />
        )}
      </div>
    </>
  );
}
