! SPDX-License-Identifier: GPL-2.0-or-later
! MPI program in Fortran for 2 ranks: what it calls is compared with what is published for it.
#if BINDING == 2008
#define HANDLE(kind) type(kind)
#else
#define HANDLE(kind) integer
#endif
program mpi_calls
#if BINDING == 2008
  use mpi_f08
#elif BINDING == 90
  use mpi
#endif
  use, intrinsic :: iso_fortran_env, only: int64
  use own_page
  implicit none
#if BINDING == 77
  include 'mpif.h'
#endif
  integer, parameter :: polls = 100000
  integer :: error, rank, other, i, inbox(2), outbox(2)
  integer(int64) :: base
  logical :: flag, done
  HANDLE(MPI_Request) :: request(2)

  call MPI_Init(error)
  call MPI_Comm_rank(MPI_COMM_WORLD, rank, error)
  other = 1 - rank
  outbox = rank
  call MPI_Barrier(MPI_COMM_WORLD, error)

  base = own_count()
  call check(base >= 0, 'it publishes')

  base = own_count()
  do i = 1, 100
    call MPI_Allreduce(outbox, inbox, 2, MPI_INTEGER, MPI_SUM, MPI_COMM_WORLD, error)
    call MPI_Bcast(outbox, 2, MPI_INTEGER, 0, MPI_COMM_WORLD, error)
    call MPI_Sendrecv(outbox, 1, MPI_INTEGER, other, 1, inbox, 1, MPI_INTEGER, other, 1, &
         MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    if (rank == 0) then
      call MPI_Send(outbox, 1, MPI_INTEGER, other, 2, MPI_COMM_WORLD, error)
    else
      call MPI_Recv(inbox, 1, MPI_INTEGER, other, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE, error)
    end if
  end do
  call check(own_count() - base == 500, 'blocking calls count')

  base = own_count()
  call MPI_Irecv(inbox, 1, MPI_INTEGER, other, 3, MPI_COMM_WORLD, request(1), error)
  do i = 1, polls
    call MPI_Test(request(1), flag, MPI_STATUS_IGNORE, error)
  end do
  call check(own_count() == base, 'polling counts nothing')

  base = own_count()
  call MPI_Isend(outbox, 1, MPI_INTEGER, other, 3, MPI_COMM_WORLD, request(2), error)
  done = .false.
  i = 0
  do while (i < polls .or. .not. done)
    call MPI_Testall(2, request, flag, MPI_STATUSES_IGNORE, error)
    done = done .or. flag
    i = i + 1
  end do
  call MPI_Waitall(2, request, MPI_STATUSES_IGNORE, error)
  call check(own_count() - base == 2, 'what was started counts once')
  call MPI_Finalize(error)
  if (rank == 0) call say(own_count() == -1, 'MPI_Finalize ends it')
contains
  subroutine say(good, what)
    logical, intent(in) :: good
    character(*), intent(in) :: what
    character(8) :: verdict
    verdict = merge('ok      ', 'not ok  ', good)
    print '(a)', trim(verdict) // ' - ' // NAME // ': ' // what
    flush (6)
  end subroutine

  ! Rank 0 speaks for both.
  subroutine check(good, what)
    logical, intent(in) :: good
    character(*), intent(in) :: what
    logical :: all
    call MPI_Allreduce(good, all, 1, MPI_LOGICAL, MPI_LAND, MPI_COMM_WORLD, error)
    if (rank == 0) call say(all, what)
    call MPI_Barrier(MPI_COMM_WORLD, error)
  end subroutine
end program
