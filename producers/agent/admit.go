package agent

import (
	"context"
	"os"
)

// mostRanks is how many folders' ranks are remembered, for what their processes wrote beside them.
const mostRanks = 1 << 16

// admit asks for the process's place in its run, whose rank is then that of all that it has written.
func (s *served) admit(ctx context.Context, epoch uint64) (place Place, err error) {
	about := &s.about
	s.start = Start{
		RunID: about.run.RunID, Rank: about.rank.Rank, Epoch: epoch, Resume: about.resume || s.cfg.Resume,
		Launch: about.launch, Apart: about.rank.Child == 1 || s.hasTwin(),
	}
	if about.run.WorldSize != nil {
		s.start.World = *about.run.WorldSize
	}
	place, err = s.cfg.Stream.Admit(ctx, s.start)
	if err != nil && !s.start.Apart && s.hasTwin() { // which has come meanwhile
		s.start.Apart = true
		place, err = s.cfg.Stream.Admit(ctx, s.start)
	}
	if err != nil {
		s.agent.knowRank(s.name, about.rank.Rank)
		return place, s.refused(ctx, err)
	}
	s.start.Rank, about.rank.Rank = place.Rank, place.Rank
	s.agent.knowRank(s.name, place.Rank)
	return place, nil
}

// hasTwin says whether another process of the launch that lives says that it is this rank, as children do of which nobody knows that they are.
func (s *served) hasTwin() (found bool) {
	if s.about.launch == "" {
		return false
	}
	_ = eachFolder(s.cfg.Root, func(folders *os.Root, name string) { // what cannot be read is none
		found = found || name != s.name && holdsFor(folders, name, s.isTwin)
	})
	return found
}

func (s *served) isTwin(in *os.Root, header *header) bool {
	definitions, err := openDefinitions(in)
	if err != nil {
		return false
	}
	defer definitions.close() //nolint:errcheck // only read
	other, err := readAbout(definitions, header.load())
	return err == nil && other.launch == s.about.launch && other.run.RunID == s.about.run.RunID && other.rank.Rank == s.about.rank.Rank && header.isHeld()
}

func (a *Agent) knowRank(folder string, rank uint32) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	if len(a.ranks) >= mostRanks {
		clear(a.ranks)
	}
	a.ranks[folder] = rank
}

// RankOf is the rank that the process of a folder was given, or asked for in vain; not known until then.
func (a *Agent) RankOf(folder string) (rank uint32, known bool) {
	a.mutex.Lock()
	defer a.mutex.Unlock()
	rank, known = a.ranks[folder]
	return rank, known
}
