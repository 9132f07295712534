package model

// losePower decides what is left of each file that was not synced.
func (a Archive) losePower(s archived, i int, to func(string, archived)) {
	if i == len(s.files) {
		to("the machine loses power", s)
		return
	}
	f := &s.files[i]
	if f.place == nowhere {
		a.losePower(s, i+1, to)
		return
	}
	f.spoilt = f.spoilt || !f.synced
	kept := f.kept
	f.kept = true
	a.losePower(s, i+1, to)
	if f.place == named && !kept {
		*f = file{} // its entry in the folder was not on the disk; a line that names it is found to be wrong
		a.losePower(s, i+1, to)
	}
}

func (a Archive) damage(s archived, to func(string, archived)) {
	lost := s
	for i := range lost.files {
		lost.files[i].listed = false
	}
	to("the manifest is lost", lost)
	for i, f := range s.files {
		if f.place != named {
			continue
		}
		harmed := s
		harmed.files[i].spoilt, harmed.files[i].harmed = true, true
		to("a file is damaged", harmed)
		a.copyIn(s, f, to)
	}
}

// copyIn puts a copy of a file where it is found first, or last.
func (a Archive) copyIn(s archived, f file, to func(string, archived)) {
	for i := range s.files {
		if s.files[i].place == nowhere {
			s.files[i] = f
			s.files[i].listed = false
			to("a file is copied", s)
			return
		}
	}
}
