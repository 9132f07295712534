#!/usr/bin/env bash
# A task prolog of Slurm (TaskProlog=/etc/slurm/prolog.sh): each task of a job that sets TENSORTAP_RUN is recorded,
# and the first task of a node starts the node's agent, which ends with the job's step. What is printed as "export NAME=VALUE"
# is the task's environment. A prolog that fails fails the job: this one says what is wrong and lets the job go on.
set -u
[ -n "${TENSORTAP_RUN:-}" ] || exit 0

# Where the servers are, and the credentials that the job's user may read: as deploy/systemd/roles.env.
[ -r /etc/tensortap/agent.env ] && set -a && . /etc/tensortap/agent.env && set +a
spool=${TENSORTAP_SPOOL:-/var/tmp/tensortap-$(id -u)/job-$SLURM_JOB_ID}
tap=${TENSORTAP_BINARY:-/usr/local/bin/tensortap}

echo "export TENSORTAP_SPOOL=$spool"
echo "export TENSORTAP_RUN=$TENSORTAP_RUN"
echo "export TENSORTAP_ATTACH=1" # the installed package attaches by that
[ "${SLURM_LOCALID:-0}" = 0 ] || exit 0
if [ ! -x "$tap" ]; then
	echo "print tensortap: $tap is not there, nothing is published from this node"
	exit 0
fi
mkdir -p -m 700 "$(dirname "$spool")"
# A session of its own, in the step's cgroup: Slurm ends it with the step. What it has not published yet stays in the spool, and the
# next agent of that spool publishes it.
TENSORTAP_SPOOL=$spool setsid "$tap" agent --data "$spool.agent" >"$(dirname "$spool")/agent-$SLURM_JOB_ID.log" 2>&1 </dev/null &
echo "print tensortap: an agent publishes run $TENSORTAP_RUN from this node"
