import { Form, Radios, type ControlProps, type Values } from '../parts/form.tsx';
import { Denied } from '../parts/notices.tsx';
import { PageHead } from '../parts/page.tsx';
import { useFields, type Created } from '../parts/resource-forms.tsx';
import { DEFAULT_POOL } from '../pools/default-pool.ts';
import { send } from '../requests.ts';
import { open, pageOf } from '../router.ts';
import { may } from '../session.ts';
import { LACKS, titleOf } from '../brands.ts';

const DELIVERY: Readonly<Record<string, string>> = {
  agent: 'An agent on the host of the name server',
  service: 'The service, which runs on the same host',
};

/** How forms show a name server, with words in the place of values. */
export const FORM = {
  collection: 'nameservers',
  order: ['driver', 'name', 'address', 'pool_id', 'delivery', 'probe_zone'],
  words: {
    driver: { label: 'Program', description: 'What the name server runs.' },
    delivery: {
      label: 'Delivered by',
      description: 'An agent needs no open port: it asks the service for changes.',
    },
    address: {
      description:
        'Where it answers DNS queries, with the port unless it is 53: 192.0.2.53:5300 or [2001:db8::53]:5300.',
    },
    pool_id: { description: 'It gets the keys of this pool.' },
    probe_zone: {
      description:
        'A zone that it serves, with a period at the end. Tsigil tests the keys in it, so it is needed while the pool has no zone.',
    },
    rights: { description: ['What the keys may do on it.', ...LACKS].join(' ') },
  },
  without: ['paused'],
  controls: {
    driver: (props: ControlProps) => <Radios {...props} words={titleOf} />,
    delivery: (props: ControlProps) => <Radios {...props} words={(name) => DELIVERY[name]} />,
  },
};

/** The first step of a new name server: what it is. */
export function NewServer() {
  const fields = useFields('nameservers', true, FORM);
  const submit = async (given: Values) => {
    const { id } = await send<Created>('v2/nameservers', 'POST', given);
    open(pageOf('nameservers', id, 'setup'), { replace: true });
  };
  return (
    <>
      <PageHead title="Add a name server" of="nameservers" />
      {may('nameservers:create') ? (
        <section class="panel narrow" aria-label="The name server">
          <Form
            {...FORM}
            fields={fields}
            values={{ driver: 'bind', delivery: 'agent', pool_id: DEFAULT_POOL }}
            action="Add and show its configuration"
            closed={{ heading: 'More', names: ['rights', 'description'] }}
            submit={submit}
            onCancel={() => open(pageOf('nameservers'))}
          />
        </section>
      ) : (
        <Denied right="nameservers:create" what="Adding a name server" />
      )}
    </>
  );
}
